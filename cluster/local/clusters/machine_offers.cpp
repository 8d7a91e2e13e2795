#include "cluster/local/clusters/machine_offers.h"

#include "cluster/catalog/gke_catalog.h"
#include "cluster/local/gcp/compute_catalog.h"

#include <map>

namespace cluster::local {

namespace {

MachineOffer offerOf(const MachineType &machine)
{
    MachineOffer offer;
    offer.name = machine.name;
    offer.shape = {machine.vcpu, machine.memoryGb};
    if (const TpuMachine *tpu = GkeCatalog::builtIn().tpuMachine(machine.name)) {
        offer.tpuAccelerator = GkeCatalog::builtIn().tpuFamily(machine.name)->label;
        offer.tpuChips = tpu->chips;
    } else if (!machine.accelerator.empty()) {
        offer.gpuAccelerator = machine.accelerator;
        offer.gpus = static_cast<int>(machine.acceleratorCount);
    }
    return offer;
}

} // namespace

std::optional<MachineShape> machineShape(const std::string &machineType)
{
    const auto machine = ComputeCatalog::builtIn().machine(machineType);
    if (!machine)
        return std::nullopt;
    return MachineShape{machine->vcpu, machine->memoryGb};
}

std::vector<MachineOffer> machineOffers(const std::vector<std::string> &zones)
{
    std::map<std::string, MachineOffer> byName;
    for (const std::string &zone : zones) {
        for (const MachineType &machine : ComputeCatalog::builtIn().machinesOf(zone))
            byName.try_emplace(machine.name, offerOf(machine)).first->second.zones.push_back(zone);
    }
    std::vector<MachineOffer> offers;
    for (auto &[name, offer] : byName)
        offers.push_back(std::move(offer));
    return offers;
}

} // namespace cluster::local
