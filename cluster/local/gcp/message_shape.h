#pragma once

#include "cluster/local/gcp/google_error.h"

#include <span>
#include <string>
#include <string_view>

namespace cluster::local {

/// An enum of protobuf: its name below the package, and its values.
struct EnumShape
{
    const char *name; ///< "NodeTaint.Effect"
    std::span<const char *const> values;
};

struct MessageShape;

/// A field of a message, as protobuf declares it.
struct FieldShape
{
    enum class Kind { Text, Flag, Int32, Int64, Enum, Message, TextMap, Duration };

    const char *name; ///< in JSON: "nodePools"
    Kind kind = Kind::Text;
    bool isList = false;
    const MessageShape *message = nullptr; ///< of a Message
    const EnumShape *values = nullptr; ///< of an Enum
};

/// A message of Google's APIs. Only fields that are read need to be in it: others are passed as they are.
struct MessageShape
{
    const char *name; ///< below the package: "NodePool"
    std::span<const FieldShape> fields;
};

/// The body of a request as Google's front end reads JSON, in its one form for those behind: without nulls; a
/// lone value for a list is a list of one; int32 are numbers, int64 texts of digits, flags true or false,
/// enums their names.
/// \param package  "google.container.v1"
/// Errors: InvalidArgument in the front end's words ("Invalid value at 'cluster.node_pools'
/// (type.googleapis.com/google.container.v1.NodePool), 7"), all of them, with google.rpc.BadRequest.
GoogleResult<nlohmann::json> readMessage(const nlohmann::json &body, const MessageShape &shape,
                                         std::string_view package);

} // namespace cluster::local
