#include "engine/gguf/tensor_types.h"

#include <algorithm>
#include <array>

namespace engine {
namespace {

/// As the block layouts of ggml 0.25.1 have it.
constexpr std::array tensorTypes{
    TensorType{0, "F32", 1, 4},         TensorType{1, "F16", 1, 2},
    TensorType{2, "Q4_0", 32, 18},      TensorType{3, "Q4_1", 32, 20},
    TensorType{6, "Q5_0", 32, 22},      TensorType{7, "Q5_1", 32, 24},
    TensorType{8, "Q8_0", 32, 34},      TensorType{9, "Q8_1", 32, 36},
    TensorType{10, "Q2_K", 256, 84},    TensorType{11, "Q3_K", 256, 110},
    TensorType{12, "Q4_K", 256, 144},   TensorType{13, "Q5_K", 256, 176},
    TensorType{14, "Q6_K", 256, 210},   TensorType{15, "Q8_K", 256, 292},
    TensorType{16, "IQ2_XXS", 256, 66}, TensorType{17, "IQ2_XS", 256, 74},
    TensorType{18, "IQ3_XXS", 256, 98}, TensorType{19, "IQ1_S", 256, 50},
    TensorType{20, "IQ4_NL", 32, 18},   TensorType{21, "IQ3_S", 256, 110},
    TensorType{22, "IQ2_S", 256, 82},   TensorType{23, "IQ4_XS", 256, 136},
    TensorType{24, "I8", 1, 1},         TensorType{25, "I16", 1, 2},
    TensorType{26, "I32", 1, 4},        TensorType{27, "I64", 1, 8},
    TensorType{28, "F64", 1, 8},        TensorType{29, "IQ1_M", 256, 56},
    TensorType{30, "BF16", 1, 2},       TensorType{34, "TQ1_0", 256, 54},
    TensorType{35, "TQ2_0", 256, 66},   TensorType{39, "MXFP4", 32, 17},
    TensorType{40, "NVFP4", 64, 36},    TensorType{41, "Q1_0", 128, 18},
    TensorType{42, "Q2_0", 64, 18},
};

constexpr std::array fileTypes{
    "F32",   "F16",     "Q4_0",   "Q4_1",   "",       "",        "",       "Q8_0",   "Q5_0",
    "Q5_1",  "Q2_K",    "Q3_K_S", "Q3_K_M", "Q3_K_L", "Q4_K_S",  "Q4_K_M", "Q5_K_S", "Q5_K_M",
    "Q6_K",  "IQ2_XXS", "IQ2_XS", "Q2_K_S", "IQ3_XS", "IQ3_XXS", "IQ1_S",  "IQ4_NL", "IQ3_S",
    "IQ3_M", "IQ2_S",   "IQ2_M",  "IQ4_XS", "IQ1_M",  "BF16",    "",       "",       "",
    "TQ1_0", "TQ2_0",   "MXFP4",  "NVFP4",  "Q1_0",   "Q2_0",
};

} // namespace

const TensorType *tensorType(std::uint32_t number)
{
    const auto *found = std::find_if(tensorTypes.begin(), tensorTypes.end(),
                                     [number](const TensorType &type) { return type.number == number; });
    return found == tensorTypes.end() ? nullptr : &*found;
}

std::string fileTypeName(std::uint32_t number)
{
    if (number < fileTypes.size() && *fileTypes[number] != '\0')
        return fileTypes[number];
    return "type " + std::to_string(number);
}

} // namespace engine
