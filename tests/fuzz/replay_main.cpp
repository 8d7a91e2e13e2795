// Runs a fuzz target over its corpus, where there is no libFuzzer: each file as it is, cut short, and with
// single bytes changed. Usage: fuzz_NAME CORPUS

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);

namespace {

void run(const std::string &text)
{
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t *>(text.data()), text.size());
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 2) {
        std::cerr << "usage: " << argv[0] << " CORPUS\n";
        return 2;
    }
    std::mt19937 random(1); // the same inputs in each run
    std::size_t files = 0;
    for (const auto &entry : std::filesystem::directory_iterator(argv[1])) {
        std::ifstream file(entry.path(), std::ios::binary);
        const std::string text((std::istreambuf_iterator<char>(file)), {});
        run(text);
        for (int i = 0; i < 500 && !text.empty(); ++i) {
            std::string changed = text.substr(0, i % 2 == 0 ? text.size() : random() % text.size());
            for (unsigned change = random() % 4; change > 0 && !changed.empty(); --change)
                changed[random() % changed.size()] = static_cast<char>(random());
            run(changed);
        }
        ++files;
    }
    std::cout << files << " inputs\n";
    return files > 0 ? 0 : 1;
}
