#include "cluster/kube/informer.h"
#include "tests/support/loopback_server.h"

#include <QTest>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>

using namespace cluster;
using Json = nlohmann::json;
using tests::Exchange;
using tests::LoopbackServer;

namespace {

Json pod(const std::string &name, int version, const std::string &uid = {})
{
    return Json{{"metadata",
                 {{"name", name},
                  {"namespace", "d"},
                  {"uid", uid.empty() ? "uid-" + name : uid},
                  {"resourceVersion", std::to_string(version)},
                  {"managedFields", Json::array({1})}}}};
}

KubeEndpoint endpointAt(const std::string &url)
{
    KubeEndpoint endpoint;
    endpoint.url = url;
    return endpoint;
}

/// Answers lists and watches from two scripts, one entry a call; the last watch stays open.
struct FakeApi
{
    std::vector<Json> lists; ///< items
    std::vector<std::vector<Json>> watches; ///< events
    std::vector<int> watchStatuses; ///< where not 200
    std::mutex mutex;
    std::size_t listCount = 0;
    std::size_t watchCount = 0;
    std::vector<std::string> watchTargets;

    void answer(Exchange &exchange)
    {
        if (exchange.request().target.find("watch=true") == std::string::npos) {
            const std::lock_guard lock(mutex);
            const std::size_t call = listCount++;
            exchange.respond(200, "application/json",
                             Json{{"kind", "PodList"},
                                  {"apiVersion", "v1"},
                                  {"metadata", {{"resourceVersion", std::to_string(100 * (call + 1))}}},
                                  {"items", lists.at(std::min(call, lists.size() - 1))}}
                                 .dump());
            return;
        }
        std::vector<Json> events;
        int status = 200;
        bool isLast = true;
        {
            const std::lock_guard lock(mutex);
            watchTargets.push_back(exchange.request().target);
            const std::size_t call = watchCount++;
            if (call < watches.size())
                events = watches[call];
            if (call < watchStatuses.size())
                status = watchStatuses[call];
            isLast = call >= std::max(watches.size(), watchStatuses.size());
        }
        if (status != 200) {
            exchange.respond(status, "text/plain", "no");
            return;
        }
        exchange.beginChunked(200, "application/json");
        for (const Json &event : events)
            exchange.writeChunk(event.dump() + '\n');
        if (isLast)
            exchange.waitForClientToLeave();
        else
            exchange.endChunks();
    }
};

/// An informer of that, and what it told.
struct Fixture
{
    explicit Fixture(FakeApi &fake) : server([&fake](Exchange &exchange) { fake.answer(exchange); })
    {
        Informer::Handlers handlers;
        handlers.onEvent = [this](const InformerEvent &event) {
            const char *types[] = {"+", "~", "-"};
            const std::lock_guard lock(mutex);
            told.push_back(types[static_cast<int>(event.type)]
                           + event.object->at("metadata").at("name").get<std::string>());
            hadManagedFields = hadManagedFields || event.object->at("metadata").contains("managedFields");
        };
        handlers.onSynced = [this] {
            const std::lock_guard lock(mutex);
            told.emplace_back("synced");
        };
        InformerOptions options;
        options.shortestBackoff = std::chrono::milliseconds(1);
        options.longestBackoff = std::chrono::milliseconds(20);
        informer = std::make_unique<Informer>(client, coreV1("pods"), handlers, options);
    }

    std::vector<std::string> toldSoFar()
    {
        const std::lock_guard lock(mutex);
        return told;
    }

    LoopbackServer server;
    HttpClient http;
    KubeClient client{http, endpointAt(server.url())};
    std::mutex mutex;
    std::vector<std::string> told;
    bool hadManagedFields = false;
    std::unique_ptr<Informer> informer; ///< first to go
};

Json watchEvent(const char *type, const Json &object)
{
    return Json{{"type", type}, {"object", object}};
}

using Strings = std::vector<std::string>;

} // namespace

class TestInformer : public QObject
{
    Q_OBJECT

private slots:
    void theListIsToldThenTheEventsAndNothingTwice()
    {
        FakeApi api;
        api.lists = {Json::array({pod("a", 1), pod("b", 2)})};
        api.watches = {{watchEvent("ADDED", pod("b", 2)), watchEvent("MODIFIED", pod("a", 101)),
                        watchEvent("ADDED", pod("c", 102)), watchEvent("DELETED", pod("b", 103)),
                        watchEvent("DELETED", pod("nobody", 104))}};
        Fixture f(api);
        QVERIFY(f.informer->waitForSync(Deadline::after(std::chrono::seconds(20))));
        const Strings expected{"+a", "+b", "synced", "~a", "+c", "-b"};
        QTRY_COMPARE(f.toldSoFar(), expected);
        QVERIFY(!f.hadManagedFields);
        QVERIFY(f.informer->find("d", "c"));
        QVERIFY(!f.informer->find("d", "b"));
        QCOMPARE(f.informer->size(), std::size_t{2});
    }

    void aWatchThatEndsIsResumedFromTheNewestVersion()
    {
        FakeApi api;
        api.lists = {Json::array({pod("a", 1)})};
        api.watches = {{watchEvent("MODIFIED", pod("a", 150))},
                       {watchEvent("BOOKMARK", Json{{"metadata", {{"resourceVersion", "170"}}}})}};
        Fixture f(api);
        QTRY_COMPARE(
            f.server.openConnections() > 0 &&
                [&] {
                    const std::lock_guard lock(api.mutex);
                    return api.watchTargets.size() == 3;
                }(),
            true);
        const std::lock_guard lock(api.mutex);
        QVERIFY(api.watchTargets[0].find("resourceVersion=100&") != std::string::npos);
        QVERIFY(api.watchTargets[1].find("resourceVersion=150&") != std::string::npos);
        QVERIFY(api.watchTargets[2].find("resourceVersion=170&") != std::string::npos);
        QCOMPARE(api.listCount, std::size_t{1});
    }

    void after410WhatHappenedMeanwhileIsTold()
    {
        FakeApi api;
        api.lists = {Json::array({pod("kept", 1), pod("changed", 2), pod("gone", 3), pod("reborn", 4)}),
                     Json::array({pod("kept", 1), pod("changed", 190), pod("reborn", 191, "another"),
                                  pod("fresh", 192)})};
        api.watchStatuses = {410};
        Fixture f(api);
        const Strings expected{"+kept",    "+changed", "+gone",   "+reborn", "synced",
                               "~changed", "-reborn",  "+reborn", "+fresh",  "-gone"};
        QTRY_COMPARE(f.toldSoFar(), expected);
    }

    void aServerThatIsAwayForAWhileIsResumedWithoutANewList()
    {
        FakeApi api;
        api.lists = {Json::array({pod("a", 1)})};
        api.watchStatuses = {503, 503, 200};
        api.watches = {{}, {}, {watchEvent("DELETED", pod("a", 101))}};
        Fixture f(api);
        const Strings expected{"+a", "synced", "-a"};
        QTRY_COMPARE(f.toldSoFar(), expected);
        const std::lock_guard lock(api.mutex);
        QCOMPARE(api.listCount, std::size_t{1});
    }

    void stopIsPromptWhileTheServerIsSilent()
    {
        FakeApi api;
        api.lists = {Json::array()};
        Fixture f(api);
        QVERIFY(f.informer->waitForSync(Deadline::after(std::chrono::seconds(20))));
        QTRY_COMPARE(f.server.openConnections(), 1);
        f.informer->stop(); // a hang here is the test's time-out
        QTRY_COMPARE(f.server.openConnections(), 0);
    }

    void anEventHandlerThatThrowsCostsOnlyItsEvent()
    {
        FakeApi api;
        api.lists = {Json::array({pod("a", 1), pod("b", 2)})};
        LoopbackServer server([&](Exchange &exchange) { api.answer(exchange); });
        HttpClient http;
        KubeClient client(http, endpointAt(server.url()));
        std::atomic<int> errors = 0;
        Informer::Handlers handlers;
        handlers.onEvent = [](const InformerEvent &) { throw std::runtime_error("oops"); };
        handlers.onError = [&](const Error &) { ++errors; };
        Informer informer(client, coreV1("pods"), handlers);
        QVERIFY(informer.waitForSync(Deadline::after(std::chrono::seconds(20))));
        QCOMPARE(informer.size(), std::size_t{2});
        QCOMPARE(errors.load(), 2);
    }

    void waitingForAServerThatIsNotThereEndsAtTheDeadlineOrWhenCancelled()
    {
        HttpClient http;
        KubeClient client(http, endpointAt("http://127.0.0.1:1"));
        Informer informer(client, coreV1("pods"), {});
        QVERIFY(!informer.waitForSync(Deadline::after(std::chrono::milliseconds(30))));
        CancelSource cancel;
        cancel.request_stop();
        QVERIFY(!informer.waitForSync({}, cancel.get_token()));
    }
};

QTEST_GUILESS_MAIN(TestInformer)
#include "tst_informer.moc"
