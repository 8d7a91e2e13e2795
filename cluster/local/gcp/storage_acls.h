#pragma once

#include "cluster/local/gcp/google_error.h"

#include <nlohmann/json.hpp>
#include <string>

namespace cluster::local {

struct StoredObject;

/// Access control lists of Cloud Storage, as they are kept: [{"entity": "allUsers", "role": "READER"}, …].
/// Nobody is refused by them here: there is one user. A bucket with uniform bucket-level access has none, and
/// refuses requests that name one.
namespace storageAcl {

/// Whose buckets and objects these are ("user-…").
std::string ownerEntity();

/// The list that a predefined name stands for ("private", "publicRead", "projectPrivate", …).
/// InvalidArgument: it is none.
GoogleResult<nlohmann::json> predefined(const std::string &name, const nlohmann::json &bucket, bool isBucket);
/// What new objects of a bucket that says nothing get, and a new bucket.
nlohmann::json projectPrivate(const nlohmann::json &bucket);

/// Entities and roles of a list that a client gave. InvalidArgument in Cloud Storage's words; 412 where
/// public access is prevented.
GoogleResult<nlohmann::json> checked(const nlohmann::json &given, const nlohmann::json &bucket,
                                     bool isBucket);

/// The list of a new object (or one that gets a new list): the predefined one, the given one, or the bucket's
/// default. Null for a bucket with uniform access. Errors: InvalidArgument, where that has none and one was
/// asked for.
GoogleResult<nlohmann::json> ofNewObject(const nlohmann::json &bucket, const std::string &predefinedName,
                                         const nlohmann::json &fields);
/// The same, with the predefined name in fields["predefinedAcl"].
GoogleResult<nlohmann::json> ofNewObject(const nlohmann::json &bucket, const nlohmann::json &fields);
/// The same for a bucket: sets "acl" and "defaultObjectAcl" in `bucket`, which is complete otherwise.
GoogleStatus setOfBucket(nlohmann::json &bucket, const nlohmann::json &fields,
                         const std::string &predefinedName, const std::string &predefinedDefault);

/// As clients see an entry, of a bucket (object empty) or an object.
nlohmann::json entry(const nlohmann::json &kept, const std::string &bucket, const StoredObject *object);
nlohmann::json entries(const nlohmann::json &kept, const std::string &bucket, const StoredObject *object);

/// "Cannot … when uniform bucket-level access is enabled. Read more at …"
tl::unexpected<GoogleError> uniformRefusal(const std::string &what);

} // namespace storageAcl

} // namespace cluster::local
