#include "cluster/local/gcp/storage_errors.h"

namespace cluster::local {

namespace {

std::string reasonOf(int status)
{
    switch (status) {
    case 410:
        return "uploadBroken";
    case 412:
        return "conditionNotMet";
    case 416:
        return "requestedRangeNotSatisfiable";
    case 507:
        return "insufficientStorage";
    default:
        return {};
    }
}

} // namespace

ServerResponse storageErrorResponse(const GoogleError &error)
{
    return legacyErrorResponse(error, reasonOf(httpStatusOf(error)));
}

GoogleError toStorageError(const Error &error)
{
    GoogleError converted = toGoogleError(error);
    if (error.code == ErrorCode::ResourceExhausted)
        converted.httpStatus = 507;
    return converted;
}

tl::unexpected<GoogleError> noBucket()
{
    return googleFail(ErrorCode::NotFound, "The specified bucket does not exist.");
}

tl::unexpected<GoogleError> noObject(const std::string &bucket, const std::string &name)
{
    return googleFail(ErrorCode::NotFound, "No such object: " + bucket + "/" + name);
}

tl::unexpected<GoogleError> conditionNotMet()
{
    GoogleError error{ErrorCode::FailedPrecondition,
                      "At least one of the pre-conditions you specified did not hold.",
                      nlohmann::json::array(), 412};
    return tl::unexpected(std::move(error));
}

} // namespace cluster::local
