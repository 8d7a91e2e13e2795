#include "cluster/local/nodeagent/image_name.h"
#include "cluster/local/nodeagent/pod_process.h"

// What a pod says of its containers' images, in kubelet's words. Nothing is pulled here, podman's images
// apart: an image is there if something on this machine plays it.
namespace cluster::local {

/// True: the container waits for ever.
bool PodRunner::refuseImageName(std::size_t container)
{
    const std::string &image = m_pod->containers[container].image;
    const std::string error = imageNameError(image);
    if (error.empty())
        return false;
    ContainerRecord &record = m_record.containers[container];
    record.phase = ContainerPhase::Waiting;
    record.waitingReason = "InvalidImageName";
    record.waitingMessage = "Failed to apply default image tag \"" + image
        + "\": couldn't parse image name \"" + image + "\": " + error;
    record.retryAt = now() + m_context.scaled(300);
    event(container, EventType::Warning, "InspectFailed", record.waitingMessage);
    event(container, EventType::Warning, "Failed", "Error: InvalidImageName");
    return true;
}

void PodRunner::refuseImage(std::size_t container, const std::string &why)
{
    ContainerRecord &record = m_record.containers[container];
    const std::string image = "\"" + m_pod->containers[container].image + "\"";
    record.phase = ContainerPhase::Waiting;
    if (m_pod->containers[container].pullPolicy == PullPolicy::Never) {
        record.waitingReason = "ErrImageNeverPull";
        record.waitingMessage = "Container image " + image + " is not present with pull policy of Never";
        record.retryAt = now() + m_context.scaled(300);
        event(container, EventType::Warning, "ErrImageNeverPull", record.waitingMessage + ": " + why);
        event(container, EventType::Warning, "Failed", "Error: ErrImageNeverPull");
        return;
    }
    if (m_process->imageTries[container]++ == 0) {
        record.waitingReason = "ErrImagePull";
        record.waitingMessage = "failed to pull image " + image + ": " + why;
        record.retryAt = now() + m_context.scaled(2);
        event(container, EventType::Normal, "Pulling", "Pulling image " + image);
        event(container, EventType::Warning, "Failed", "Failed to pull image " + image + ": " + why);
        event(container, EventType::Warning, "Failed", "Error: ErrImagePull");
        return;
    }
    record.waitingReason = "ImagePullBackOff";
    record.waitingMessage = "Back-off pulling image " + image + ": ErrImagePull: " + why;
    record.retryAt = now() + m_context.scaled(300);
    event(container, EventType::Normal, "BackOff", "Back-off pulling image " + image);
    event(container, EventType::Warning, "Failed", "Error: ImagePullBackOff");
}

void PodRunner::tellImage(std::size_t container)
{
    const ContainerSpec &spec = m_pod->containers[container];
    if (spec.pullPolicy != PullPolicy::Always) {
        event(container, EventType::Normal, "Pulled",
              "Container image \"" + spec.image + "\" already present on machine");
        return;
    }
    // Kubelet asks the registry, finds what it has to be the newest, and says that as a pull.
    event(container, EventType::Normal, "Pulling", "Pulling image \"" + spec.image + "\"");
    event(container, EventType::Normal, "Pulled",
          "Successfully pulled image \"" + spec.image
              + "\" in 0s (0s including waiting). Image size: 0 bytes.");
}

} // namespace cluster::local
