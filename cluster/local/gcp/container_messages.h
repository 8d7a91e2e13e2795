#pragma once

#include "cluster/local/gcp/message_shape.h"

// The requests of google.container.v1 and v1beta1, as far as this target reads them: every field that is read
// is in one of these shapes, so that a body of another form is refused before anyone reads it. Names and
// types are those of the API's discovery document.

namespace cluster::local {

extern const MessageShape kCreateClusterRequest;
extern const MessageShape kUpdateClusterRequest;
extern const MessageShape kSetAddonsRequest;
extern const MessageShape kSetLabelsRequest;
extern const MessageShape kSetLocationsRequest;
extern const MessageShape kUpdateMasterRequest;
extern const MessageShape kCreateNodePoolRequest;
extern const MessageShape kUpdateNodePoolRequest;
extern const MessageShape kSetSizeRequest;
extern const MessageShape kSetAutoscalingRequest;
extern const MessageShape kSetManagementRequest;

} // namespace cluster::local
