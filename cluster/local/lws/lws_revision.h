#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace cluster::local {

/// What a ControllerRevision keeps of a LeaderWorkerSet: its templates and its network, as a patch that
/// brings them back.
[[nodiscard]] nlohmann::json revisionData(const nlohmann::json &lws);

/// The label and the name's middle: FNV-1 over the data as Go writes JSON (sorted, `<>&` escaped), in letters
/// that make no words. Equal specs have equal keys, here and in the real controller.
[[nodiscard]] std::string revisionKey(const nlohmann::json &data);

/// A new ControllerRevision, numbered after those of `known`. `key`: the label of a StatefulSet that is
/// already there without its revision; empty: the data's own.
[[nodiscard]] nlohmann::json newRevision(const nlohmann::json &lws, const std::vector<nlohmann::json> &known,
                                         const std::string &key = {});

/// `lws` with what `revision` keeps.
[[nodiscard]] nlohmann::json withRevision(nlohmann::json lws, const nlohmann::json &revision);

/// `revision` is what `lws` asks for now, also where another version wrote it down otherwise (a null for what
/// is left out, a quantity in another form).
[[nodiscard]] bool isRevisionOf(const nlohmann::json &revision, const nlohmann::json &lws);

/// That with the highest number among those with this key; null: none.
[[nodiscard]] nlohmann::json revisionWith(const std::vector<nlohmann::json> &revisions,
                                          const std::string &key);

} // namespace cluster::local
