// Buckets and disks in pods, under the real controllers.

#include "cluster/local/storage/bucket_folders.h"
#include "cluster/local/storage/disk_provisioner.h"
#include "tests/local/nodeagent/agent_stand.h"
#include "tests/local/nodeagent/pod_objects.h"
#include "tests/local/storage/memory_bucket.h"

#include <QTest>
#include <filesystem>

using namespace cluster;
using namespace cluster::local;
using namespace tests;
namespace fs = std::filesystem;

namespace {

json bucketVolume(const std::string &bucket)
{
    return {{"name", "v"},
            {"csi",
             {{"driver", "gcsfuse.csi.storage.gke.io"},
              {"volumeAttributes", {{"bucketName", bucket}, {"mountOptions", "implicit-dirs"}}}}}};
}

json claimVolume(const std::string &claim)
{
    return {{"name", "v"}, {"persistentVolumeClaim", {{"claimName", claim}}}};
}

const json marked{{"annotations", {{"gke-gcsfuse/volumes", "true"}}}};

} // namespace

class TestPodVolumes : public AgentTest
{
    Q_OBJECT

private slots:
    void initTestCase()
    {
        begin([this](AgentStand &stand) {
            m_disks = stand.folder() + "/disks";
            BucketFoldersOptions folders{stand.folder() + "/buckets", {}, std::chrono::milliseconds(100), {}};
            stand.options.buckets = std::make_shared<BucketFolders>(m_bucket, folders);
            stand.options.diskFolder
                = [this](const std::string &name) -> Result<fs::path> { return fs::path(m_disks) / name; };
        });
        if (!m_stand)
            return; // skipped
        const json zone{{"metadata", {{"labels", {{"topology.gke.io/zone", "us-east5-b"}}}}}};
        QVERIFY(m_plane->client().patch(coreV1("nodes", {}, "n1"), PatchType::Merge, zone).has_value());
        const Status made = makeStorageObjects(m_plane->client(), true);
        QVERIFY2(made.has_value(), made ? "" : made.error().message.c_str());
        m_provisioner.emplace(m_plane->client(), DiskProvisionerOptions{m_disks, {"p", "us-east5-b"}, {}});
    }

    void cleanupTestCase()
    {
        m_provisioner.reset();
        end();
    }

    void aPodReadsAndWritesABucket()
    {
        m_bucket.put("models/config", "weights");
        makePod("stager", "cat /mnt/v/models/config; mkdir /mnt/v/out; echo staged > /mnt/v/out/done",
                bucketVolume("models"), marked);
        QVERIFY(m_stand->waitForPhase("stager", "Succeeded"));
        // At the latest when the end is told.
        QCOMPARE(m_bucket.get("out/done"), std::string("staged\n"));
        QCOMPARE(m_stand->waitForLog("stager", "weights"), std::string("weights\n"));

        makePod(
            "server",
            "while ! [ -e /mnt/v/later ]; do sleep 0.05; done; cat /mnt/v/later; echo seen > /mnt/v/seen; "
            "exec sleep 1000",
            bucketVolume("models"), marked);
        QVERIFY(m_stand->waitReady("server"));
        m_bucket.put("later", "came later\n");
        QCOMPARE(m_stand->waitForLog("server", "came later"), std::string("came later\n"));
        QTRY_COMPARE_WITH_TIMEOUT(m_bucket.get("seen"), std::string("seen\n"), 30000);
        // The last words of a pod that is deleted are kept as well.
        QCOMPARE(m_stand->exec("server", {"sh", "-c", "echo last > /mnt/v/last"}).first, 0);
        QVERIFY(m_plane->client().remove(coreV1("pods", "default", "server")).has_value());
        QVERIFY(m_stand->waitGone("server"));
        QCOMPARE(m_bucket.get("last"), std::string("last\n"));
        QTRY_VERIFY_WITH_TIMEOUT(fs::is_empty(m_stand->folder() + "/buckets")
                                     || !fs::exists(m_stand->folder() + "/buckets/.gone"),
                                 30000);
    }

    void refusalsAreGkesWords()
    {
        makePod("unmarked", "true", bucketVolume("models"));
        QVERIFY(m_stand->waitForEvent(
            "unmarked",
            "FailedMount: MountVolume.SetUp failed for volume \"v\" : rpc error: code = "
            "FailedPrecondition desc = failed to find the sidecar container in Pod spec"));
        makePod("nowhere", "true", bucketVolume("no-such-bucket"), marked);
        QVERIFY(m_stand->waitForEvent(
            "nowhere",
            "rpc error: code = NotFound desc = failed to get GCS bucket \"no-such-bucket\": "
            "storage: bucket doesn't exist"));
        QVERIFY(m_stand->pod("nowhere")["status"]["phase"] == "Pending");
    }

    void aDiskOutlivesItsPodAndGoesWithItsClaim()
    {
        makeClaim("data", "ReadWriteOnce", "standard");
        QTRY_COMPARE_WITH_TIMEOUT(claim("data")["status"].value("phase", ""), std::string("Bound"), 60000);
        const std::string volume = claim("data")["spec"]["volumeName"];
        makePod("writer", "echo kept > /mnt/v/file", claimVolume("data"));
        QVERIFY(m_stand->waitForPhase("writer", "Succeeded"));
        QVERIFY(m_plane->client().remove(coreV1("pods", "default", "writer")).has_value());
        QVERIFY(m_stand->waitGone("writer"));
        makePod("reader", "cat /mnt/v/file", claimVolume("data"));
        QVERIFY(m_stand->waitForPhase("reader", "Succeeded"));
        QCOMPARE(m_stand->waitForLog("reader", "kept"), std::string("kept\n"));
        QVERIFY(m_plane->client()
                    .patch(coreV1("persistentvolumeclaims", "default", "data"), PatchType::Merge,
                           {{"spec", {{"resources", {{"requests", {{"storage", "20Gi"}}}}}}}})
                    .has_value());
        QTRY_VERIFY_WITH_TIMEOUT(claim("data")["status"]["capacity"]["storage"] == "20Gi", 30000);
        QVERIFY(fs::exists(fs::path(m_disks) / volume / "file"));
        QVERIFY(m_plane->client().remove(coreV1("pods", "default", "reader")).has_value());
        QVERIFY(m_plane->client().remove(coreV1("persistentvolumeclaims", "default", "data")).has_value());
        QTRY_VERIFY_WITH_TIMEOUT(!m_plane->client().get(coreV1("persistentvolumes", {}, volume)), 60000);
        QVERIFY(!fs::exists(fs::path(m_disks) / volume));
    }

    void aClaimOfTheDefaultClassWaitsForItsPod()
    {
        makeClaim("late", "ReadWriteOnce", {});
        json spec = podOf(shell("echo on disk > /mnt/v/file"), "Never");
        spec["containers"][0]["volumeMounts"] = json::array({{{"name", "v"}, {"mountPath", "/mnt/v"}}});
        spec["volumes"] = json::array({claimVolume("late")});
        spec["automountServiceAccountToken"] = false;
        const json pod{
            {"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", {{"name", "late"}}}, {"spec", spec}};
        QVERIFY(m_plane->client().create(coreV1("pods", "default"), pod).has_value()); // the scheduler's
        QVERIFY(m_stand->waitForPhase("late", "Succeeded"));
        const json bound = claim("late");
        QVERIFY(bound["spec"]["storageClassName"] == "standard-rwo");
        QVERIFY(fs::exists(fs::path(m_disks) / bound["spec"]["volumeName"].get<std::string>() / "file"));
    }

    void whatNoDiskCanIsAnEvent()
    {
        makeClaim("shared", "ReadWriteMany", "standard");
        QVERIFY(m_stand->waitForEvent(
            "shared",
            "ProvisioningFailed: failed to provision volume with StorageClass \"standard\": "
            "rpc error: code = InvalidArgument desc = VolumeCapabilities is invalid: specified "
            "multi writer with mount access type"));
    }

private:
    void makePod(const std::string &name, const std::string &script, const json &volume,
                 const json &metadata = {})
    {
        json spec = podOf(shell(script), "Never");
        spec["containers"][0]["volumeMounts"] = json::array({{{"name", "v"}, {"mountPath", "/mnt/v"}}});
        spec["volumes"] = json::array({volume});
        m_stand->makePod(name, spec, metadata.is_null() ? json::object() : metadata);
    }

    void makeClaim(const std::string &name, const std::string &mode, const std::string &storageClass)
    {
        json object{
            {"apiVersion", "v1"},
            {"kind", "PersistentVolumeClaim"},
            {"metadata", {{"name", name}}},
            {"spec",
             {{"accessModes", json::array({mode})}, {"resources", {{"requests", {{"storage", "10Gi"}}}}}}}};
        if (!storageClass.empty())
            object["spec"]["storageClassName"] = storageClass;
        const auto made = m_plane->client().create(coreV1("persistentvolumeclaims", "default"), object);
        QVERIFY2(made.has_value(), made ? "" : made.error().message.c_str());
    }

    json claim(const std::string &name)
    {
        const auto found = m_plane->client().get(coreV1("persistentvolumeclaims", "default", name));
        return found ? *found : json::object();
    }

    MemoryBucket m_bucket;
    std::string m_disks;
    std::optional<DiskProvisioner> m_provisioner;
};

QTEST_GUILESS_MAIN(TestPodVolumes)
#include "tst_pod_volumes.moc"
