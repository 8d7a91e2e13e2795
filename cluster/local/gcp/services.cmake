# Google's small services: all but container. Part of cluster_local_gcp.

# The catalogue is built in: a program that was moved alone still knows its regions.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/resources/catalog/compute.yaml)
file(READ ${CMAKE_SOURCE_DIR}/resources/catalog/compute.yaml SLIPWAY_COMPUTE_YAML)
configure_file(built_in_compute.h.in ${CMAKE_BINARY_DIR}/generated/cluster/local/gcp/built_in_compute.h @ONLY)

target_sources(cluster_local_gcp PRIVATE
    access_tokens.cpp access_tokens.h
    artifactregistry_service.cpp artifactregistry_service.h
    blob_store.cpp blob_store.h
    bucket_files.cpp bucket_files.h
    caller_gate.cpp caller_gate.h
    caller_permissions.cpp caller_permissions.h
    cloudquotas_service.cpp cloudquotas_service.h
    compute_catalog.cpp compute_catalog.h
    compute_policies.cpp compute_service.cpp compute_service.h
    enabled_apis.cpp enabled_apis.h
    iam_policy.cpp iam_policy.h
    iam_service.cpp iam_service.h
    identity_token.cpp identity_token.h
    metric_store.h
    monitoring_service.cpp monitoring_service.h
    multipart_related.cpp multipart_related.h
    object_list.cpp object_store.cpp object_store.h
    partial_response.cpp partial_response.h
    pod_identities.h
    projects.cpp projects.h
    quotas.cpp quotas.h
    request_permission.cpp request_permission.h
    resourcemanager_service.cpp resourcemanager_service.h
    role_permissions.cpp role_permissions.h
    serviceusage_catalog.cpp serviceusage_catalog.h
    serviceusage_service.cpp serviceusage_service.h
    storage_acl_service.cpp storage_acl_service.h
    storage_acls.cpp storage_acls.h
    storage_buckets.cpp storage_buckets.h
    storage_caches.cpp storage_caches.h
    storage_checksums.cpp storage_checksums.h
    storage_errors.cpp storage_errors.h
    storage_folders.cpp storage_folders.h
    storage_objects.cpp storage_objects.h
    storage_parts.cpp storage_parts.h
    storage_service.cpp storage_service.h
    storage_uploads.cpp storage_uploads.h
    timed_operations.cpp timed_operations.h
    upload_range.cpp upload_range.h
    upload_sink.cpp upload_sink.h
    wire_values.cpp wire_values.h
    workload_identity.cpp workload_identity.h)
target_include_directories(cluster_local_gcp PRIVATE ${CMAKE_BINARY_DIR}/generated)
target_link_libraries(cluster_local_gcp PRIVATE cluster_net Boost::headers yaml-cpp OpenSSL::Crypto)
