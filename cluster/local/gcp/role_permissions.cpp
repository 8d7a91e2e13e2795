#include "cluster/local/gcp/role_permissions.h"

#include <algorithm>
#include <array>
#include <string>

namespace cluster::local {

namespace {

struct Role
{
    std::string_view name; ///< behind "roles/"
    std::string_view permissions; ///< parted by blanks; a star at the end stands for all that begin so
};

constexpr std::array<Role, 26> roles{{
    {"owner", "monitoring.* storage.buckets.create storage.buckets.list storage.buckets.delete iam.*"},
    {"editor", "monitoring.* storage.buckets.create storage.buckets.list storage.buckets.delete"},
    {"viewer",
     "monitoring.timeSeries.list monitoring.metricDescriptors.get "
     "monitoring.metricDescriptors.list storage.buckets.list"},
    {"storage.admin", "storage.*"},
    {"storage.objectAdmin", "storage.objects.* storage.folders.* storage.managedFolders.*"},
    {"storage.objectUser",
     "storage.objects.get storage.objects.list storage.objects.create "
     "storage.objects.update storage.objects.delete storage.folders.* "
     "storage.managedFolders.get storage.managedFolders.list "
     "storage.managedFolders.create storage.managedFolders.delete"},
    {"storage.objectViewer",
     "storage.objects.get storage.objects.list storage.folders.get "
     "storage.folders.list storage.managedFolders.get storage.managedFolders.list"},
    {"storage.objectCreator", "storage.objects.create storage.folders.create storage.managedFolders.create"},
    {"storage.bucketViewer", "storage.buckets.get storage.buckets.list"},
    {"storage.insightsCollectorService", "storage.buckets.get storage.objects.get storage.objects.list"},
    {"storage.legacyBucketReader",
     "storage.buckets.get storage.objects.list storage.folders.get "
     "storage.folders.list storage.managedFolders.get "
     "storage.managedFolders.list"},
    {"storage.legacyBucketWriter",
     "storage.buckets.get storage.objects.list storage.objects.create "
     "storage.objects.delete storage.folders.* storage.managedFolders.*"},
    {"storage.legacyBucketOwner",
     "storage.buckets.get storage.buckets.update storage.buckets.getIamPolicy "
     "storage.buckets.setIamPolicy storage.objects.list "
     "storage.objects.create storage.objects.delete storage.folders.* "
     "storage.managedFolders.*"},
    {"storage.legacyObjectReader", "storage.objects.get"},
    {"storage.legacyObjectOwner",
     "storage.objects.get storage.objects.update storage.objects.getIamPolicy "
     "storage.objects.setIamPolicy"},
    {"monitoring.admin", "monitoring.*"},
    {"monitoring.editor", "monitoring.*"},
    {"monitoring.viewer",
     "monitoring.timeSeries.list monitoring.metricDescriptors.get monitoring.metricDescriptors.list"},
    {"monitoring.metricWriter",
     "monitoring.timeSeries.create monitoring.metricDescriptors.create "
     "monitoring.metricDescriptors.get monitoring.metricDescriptors.list"},
    {"container.defaultNodeServiceAccount",
     "monitoring.timeSeries.create monitoring.timeSeries.list monitoring.metricDescriptors.create "
     "monitoring.metricDescriptors.list"},
    {"container.nodeServiceAccount",
     "monitoring.timeSeries.create monitoring.timeSeries.list monitoring.metricDescriptors.create "
     "monitoring.metricDescriptors.list"},
    {"iam.workloadIdentityUser",
     "iam.serviceAccounts.get iam.serviceAccounts.list "
     "iam.serviceAccounts.getAccessToken iam.serviceAccounts.getOpenIdToken"},
    {"iam.serviceAccountTokenCreator",
     "iam.serviceAccounts.get iam.serviceAccounts.list iam.serviceAccounts.getAccessToken "
     "iam.serviceAccounts.getOpenIdToken iam.serviceAccounts.signBlob iam.serviceAccounts.signJwt"},
    {"iam.serviceAccountOpenIdTokenCreator", "iam.serviceAccounts.getOpenIdToken"},
    {"iam.serviceAccountUser", "iam.serviceAccounts.get iam.serviceAccounts.list iam.serviceAccounts.actAs"},
    {"iam.serviceAccountAdmin",
     "iam.serviceAccounts.get iam.serviceAccounts.list "
     "iam.serviceAccounts.getIamPolicy iam.serviceAccounts.setIamPolicy"},
}};

bool contains(std::string_view list, std::string_view permission)
{
    while (!list.empty()) {
        const std::string_view word = list.substr(0, list.find(' '));
        list.remove_prefix(std::min(word.size() + 1, list.size()));
        const bool isPrefix = word.ends_with('*');
        if (isPrefix ? permission.starts_with(word.substr(0, word.size() - 1)) : permission == word)
            return true;
    }
    return false;
}

} // namespace

bool grants(std::string_view role, std::string_view permission)
{
    constexpr std::string_view prefix = "roles/";
    if (!role.starts_with(prefix))
        return false;
    role.remove_prefix(prefix.size());
    const auto found
        = std::find_if(roles.begin(), roles.end(), [role](const Role &known) { return known.name == role; });
    return found != roles.end() && contains(found->permissions, permission);
}

} // namespace cluster::local
