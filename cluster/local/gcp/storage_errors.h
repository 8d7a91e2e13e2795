#pragma once

#include "cluster/local/gcp/google_error.h"

#include <string>

namespace cluster::local {

/// An error in Cloud Storage's form, with its reasons ("conditionNotMet", "notFound").
ServerResponse storageErrorResponse(const GoogleError &error);

/// What the disk or the documents say, in Cloud Storage's statuses: a full disk is 507.
GoogleError toStorageError(const Error &error);

tl::unexpected<GoogleError> noBucket(); ///< 404 The specified bucket does not exist.
tl::unexpected<GoogleError> noObject(const std::string &bucket, const std::string &name);
tl::unexpected<GoogleError> conditionNotMet(); ///< 412

} // namespace cluster::local
