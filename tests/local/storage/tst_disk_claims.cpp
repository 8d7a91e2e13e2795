// Which volume a claim gets, and which disk goes with it.

#include "cluster/local/storage/disk_claims.h"

#include <QTest>

using namespace cluster;
using namespace cluster::local;
using nlohmann::json;

namespace {

json claimOf(const std::string &mode, const std::string &size)
{
    return {
        {"metadata",
         {{"name", "data"},
          {"namespace", "default"},
          {"uid", "u1"},
          {"annotations", {{"volume.kubernetes.io/storage-provisioner", "pd.csi.storage.gke.io"}}}}},
        {"spec", {{"accessModes", json::array({mode})}, {"resources", {{"requests", {{"storage", size}}}}}}}};
}

json classOf(const std::string &type, const std::string &binding = "Immediate")
{
    return {{"metadata", {{"name", "c"}}},
            {"parameters", {{"type", type}}},
            {"volumeBindingMode", binding},
            {"mountOptions", {"read_ahead_kb=4096"}}};
}

std::string refusalOf(const json &claim, const json &storageClass)
{
    const auto volume = volumeFor(claim, storageClass, {"p", "us-east5-b"});
    return volume ? "made" : volume.error().message;
}

} // namespace

class TestDiskClaims : public QObject
{
    Q_OBJECT

private slots:
    void aClaimGetsAVolumeAsGkeMakesIt()
    {
        const auto made
            = volumeFor(claimOf("ReadWriteOnce", "1500Mi"), classOf("hyperdisk-balanced"), {"p", "z"});
        QVERIFY(!made); // less than the smallest
        const auto volume
            = volumeFor(claimOf("ReadWriteOnce", "9500Mi"), classOf("hyperdisk-ml"), {"p", "z"});
        QVERIFY2(volume.has_value(), volume ? "" : volume.error().message.c_str());
        const json &spec = (*volume)["spec"];
        QVERIFY((*volume)["metadata"]["name"] == "pvc-u1");
        QVERIFY(spec["capacity"]["storage"] == "10Gi");
        QVERIFY(spec["csi"]["volumeHandle"] == "projects/p/zones/z/disks/pvc-u1");
        QVERIFY(spec["persistentVolumeReclaimPolicy"] == "Delete");
        QVERIFY(spec["mountOptions"][0] == "read_ahead_kb=4096");
        QVERIFY(spec["nodeAffinity"]["required"]["nodeSelectorTerms"][0]["matchExpressions"][0]["values"][0]
                == "z");
        QCOMPARE(diskOf(*volume), std::string("pvc-u1"));
    }

    void whatNoDiskCanIsRefused()
    {
        QVERIFY(refusalOf(claimOf("ReadWriteMany", "10Gi"), classOf("pd-ssd")).find("multi writer")
                != std::string::npos);
        QVERIFY(refusalOf(claimOf("ReadOnlyMany", "10Gi"), classOf("pd-ssd")).find("VolumeContentSource")
                != std::string::npos);
        QVERIFY(refusalOf(claimOf("ReadWriteOnce", "10Gi"), classOf("floppy")).find("'floppy'")
                != std::string::npos);
        QVERIFY(refusalOf(claimOf("ReadWriteOnce", "1000Ti"), classOf("pd-ssd")).find("GB")
                != std::string::npos);
        json clone = claimOf("ReadWriteOnce", "10Gi");
        clone["spec"]["dataSource"] = {{"kind", "VolumeSnapshot"}, {"name", "s"}};
        QVERIFY(refusalOf(clone, classOf("pd-ssd")) != "made");
    }

    void aClaimIsDueWhenItWaitsForNothingElse()
    {
        json claim = claimOf("ReadWriteOnce", "10Gi");
        QVERIFY(isDue(claim, classOf("pd-ssd")));
        QVERIFY(!isDue(claim, classOf("pd-ssd", "WaitForFirstConsumer")));
        claim["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] = "n1";
        QVERIFY(isDue(claim, classOf("pd-ssd", "WaitForFirstConsumer")));
        claim["spec"]["volumeName"] = "pv";
        QVERIFY(!isDue(claim, classOf("pd-ssd")));
        claim = claimOf("ReadWriteOnce", "10Gi");
        claim["metadata"]["annotations"]["volume.kubernetes.io/storage-provisioner"] = "other";
        QVERIFY(!isDue(claim, classOf("pd-ssd")));
    }

    void onlyReleasedDisksOfOursAreDeleted()
    {
        json volume = *volumeFor(claimOf("ReadWriteOnce", "10Gi"), classOf("pd-ssd"), {"p", "z"});
        volume["status"]["phase"] = "Bound";
        QVERIFY(!isToBeDeleted(volume));
        volume["metadata"]["finalizers"] = {"kubernetes.io/pv-protection", diskFinalizer};
        volume["metadata"]["deletionTimestamp"] = "2026-11-30T12:00:00Z";
        QVERIFY(!isToBeDeleted(volume));
        volume["metadata"]["finalizers"] = json::array({diskFinalizer});
        QVERIFY(isToBeDeleted(volume));
        volume["metadata"].erase("deletionTimestamp");
        volume["status"]["phase"] = "Released";
        QVERIFY(isToBeDeleted(volume));
        volume["spec"]["persistentVolumeReclaimPolicy"] = "Retain";
        QVERIFY(!isToBeDeleted(volume));
        volume["spec"]["persistentVolumeReclaimPolicy"] = "Delete";
        volume["metadata"]["annotations"].clear(); // somebody's own, static one
        QVERIFY(!isToBeDeleted(volume));
    }
};

QTEST_APPLESS_MAIN(TestDiskClaims)
#include "tst_disk_claims.moc"
