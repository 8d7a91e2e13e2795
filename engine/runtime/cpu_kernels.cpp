#include "engine/runtime/cpu_kernels.h"

#include "engine/runtime/cell_attention.h"
#include "engine/runtime/packed_q4.h"
#include <algorithm>
#include <cstring>
#include <ggml-backend-impl.h>
#include <ggml-cpu.h>
#include <ggml-cpu/traits.h>

namespace engine {

namespace {

ggml_backend_buffer_type_t packedBufferType();

const float *rowOf(const ggml_tensor &tensor, std::int64_t row)
{
    const std::int64_t plane = row / tensor.ne[1];
    const auto offset = static_cast<std::size_t>(row % tensor.ne[1]) * tensor.nb[1]
        + static_cast<std::size_t>(plane % tensor.ne[2]) * tensor.nb[2]
        + static_cast<std::size_t>(plane / tensor.ne[2]) * tensor.nb[3];
    return reinterpret_cast<const float *>(static_cast<const char *>(tensor.data) + offset);
}

/// The product of a packed matrix with all rows of the other operand, by all threads of a graph.
class PackedProduct final : public ggml::cpu::tensor_traits
{
public:
    bool work_size(int /*threads*/, const ggml_tensor *op, std::size_t &size) override
    {
        const std::int64_t blocks = ggml_nrows(op->src[1]) * (op->src[1]->ne[0] / quantBlockSize);
        size = static_cast<std::size_t>(blocks) * sizeof(ByteBlock);
        return true;
    }

    bool compute_forward(ggml_compute_params *params, ggml_tensor *op) override
    {
        const ggml_tensor &weights = *op->src[0];
        const ggml_tensor &input = *op->src[1];
        const std::int64_t blocks = weights.ne[0] / quantBlockSize;
        const std::int64_t rows = ggml_nrows(&input);
        auto *const vectors = static_cast<ByteBlock *>(params->wdata);
        for (std::int64_t row = params->ith; row < rows; row += params->nth)
            quantizeToBytes(rowOf(input, row), blocks, vectors + row * blocks);
        if (params->ith == 0)
            ggml_threadpool_chunk_set(params->threadpool, params->nth);
        ggml_barrier(params->threadpool);
        // More parts than threads, since a thread may lose its core for a while.
        const std::int64_t groups = weights.ne[1] / packedRowCount;
        const std::int64_t parts = params->nth == 1 ? 1 : params->nth * 4;
        const std::int64_t size = std::max<std::int64_t>(1, (groups + parts - 1) / parts);
        const auto *const packed = static_cast<const PackedQ4Block *>(weights.data);
        auto *const results = static_cast<float *>(op->data);
        for (std::int64_t part = params->ith; part * size < groups;
             part = ggml_threadpool_chunk_add(params->threadpool, 1)) {
            const std::int64_t first = part * size;
            const PackedMatrix matrix{packed + first * blocks, std::min(size, groups - first), blocks};
            multiplyPacked(matrix, vectors, rows, results + first * packedRowCount, op->ne[0]);
        }
        return true;
    }
};

/// Attention over a cache of halves, by all threads of a graph.
class CellAttention final : public ggml::cpu::tensor_traits
{
public:
    /// What the models need that are served here; all else stays ggml's own.
    static bool canCompute(const ggml_tensor &op)
    {
        const ggml_tensor &queries = *op.src[0];
        const ggml_tensor &keys = *op.src[1];
        const ggml_tensor &values = *op.src[2];
        const ggml_tensor *const mask = op.src[3];
        const float bias = floatOption(op, 1);
        const float softcap = floatOption(op, 2);
        return mask != nullptr && op.src[4] == nullptr && bias == 0 && softcap == 0
            && queries.type == GGML_TYPE_F32 && keys.type == GGML_TYPE_F16 && values.type == GGML_TYPE_F16
            && keys.ne[0] == values.ne[0] && keys.ne[0] % 8 == 0 && keys.ne[2] == values.ne[2]
            && queries.ne[3] == 1 && keys.ne[3] == 1 && mask->ne[2] == 1 && mask->ne[3] == 1;
    }

    bool work_size(int threads, const ggml_tensor *op, std::size_t &size) override
    {
        size = sizeof(float) * static_cast<std::size_t>(threads * scratchOf(op->src[1]->ne[1]));
        return true;
    }

    bool compute_forward(ggml_compute_params *params, ggml_tensor *op) override
    {
        const ggml_tensor &queries = *op->src[0];
        const ggml_tensor &keys = *op->src[1];
        const ggml_tensor &mask = *op->src[3];
        const std::int64_t cellCount = keys.ne[1];
        const std::int64_t rows = queries.ne[1];
        float *const scratch = static_cast<float *>(params->wdata) + params->ith * scratchOf(cellCount);
        SeenCells seen{reinterpret_cast<std::int32_t *>(scratch), scratch + cellCount, 0};
        // All rows of one group, then the next: requests that share a prefix find it in the cache of the
        // core.
        const std::int64_t units = rows * keys.ne[2];
        const std::int64_t end = units * (params->ith + 1) / params->nth;
        for (std::int64_t unit = units * params->ith / params->nth; unit < end; ++unit) {
            const std::int64_t row = unit % rows;
            listSeenCells(at<std::uint16_t>(mask, row, 0), cellCount, seen);
            attend(*op, row, unit / rows, seen, scratch + 2 * cellCount);
        }
        return true;
    }

private:
    static std::int64_t scratchOf(std::int64_t cellCount)
    {
        constexpr std::int64_t cacheLine = 16; // floats
        return 2 * cellCount + attentionScratch(cellCount) + cacheLine;
    }

    static float floatOption(const ggml_tensor &op, int index)
    {
        float value = 0;
        std::memcpy(&value, op.op_params + index, sizeof value);
        return value;
    }

    template<typename T>
    static const T *at(const ggml_tensor &tensor, std::int64_t row, std::int64_t plane)
    {
        return reinterpret_cast<const T *>(static_cast<const char *>(tensor.data)
                                           + static_cast<std::size_t>(row) * tensor.nb[1]
                                           + static_cast<std::size_t>(plane) * tensor.nb[2]);
    }

    static void attend(ggml_tensor &op, std::int64_t row, std::int64_t group, const SeenCells &seen,
                       float *scratch)
    {
        const ggml_tensor &queries = *op.src[0];
        const ggml_tensor &keys = *op.src[1];
        const ggml_tensor &values = *op.src[2];
        const std::int64_t heads = queries.ne[2] / keys.ne[2];
        const std::int64_t headSize = keys.ne[0];
        HeadGroup part{};
        part.queries = at<float>(queries, row, group * heads);
        part.queryStride = static_cast<std::int64_t>(queries.nb[2] / sizeof(float));
        // The result has head size, heads, rows, without gaps.
        part.results = static_cast<float *>(op.data) + (row * queries.ne[2] + group * heads) * headSize;
        part.resultStride = headSize;
        part.heads = static_cast<int>(heads);
        part.headSize = static_cast<int>(headSize);
        part.scale = floatOption(op, 0);
        attendCells(part, seen, {at<char>(keys, 0, group), keys.nb[1]},
                    {at<char>(values, 0, group), values.nb[1]}, scratch);
    }
};

class OwnKernels final : public ggml::cpu::extra_buffer_type
{
public:
    bool supports_op(ggml_backend_dev_t /*device*/, const ggml_tensor *op) override
    {
        if (op->op != GGML_OP_MUL_MAT || !isPacked(op->src[0]))
            return false;
        const ggml_tensor &weights = *op->src[0];
        const ggml_tensor &input = *op->src[1];
        const bool isOnHost = input.buffer == nullptr || ggml_backend_buft_is_host(input.buffer->buft);
        return weights.type == GGML_TYPE_Q4_1 && ggml_n_dims(&weights) == 2
            && weights.ne[1] % packedRowCount == 0 && input.type == GGML_TYPE_F32 && isOnHost;
    }

    ggml::cpu::tensor_traits *get_tensor_traits(const ggml_tensor *op) override
    {
        if (op->op == GGML_OP_FLASH_ATTN_EXT && CellAttention::canCompute(*op))
            return &m_attention;
        return op->op == GGML_OP_MUL_MAT && isPacked(op->src[0]) ? &m_product : nullptr;
    }

private:
    static bool isPacked(const ggml_tensor *tensor)
    {
        return tensor->buffer != nullptr && tensor->buffer->buft == packedBufferType();
    }

    PackedProduct m_product;
    CellAttention m_attention;
};

void setTensor(ggml_backend_buffer_t /*buffer*/, ggml_tensor *tensor, const void *data, std::size_t offset,
               std::size_t size)
{
    GGML_ASSERT(offset == 0 && size == ggml_nbytes(tensor)); // rows can't be packed one by one
    packRows(static_cast<const Q4Block *>(data), tensor->ne[1], tensor->ne[0] / quantBlockSize,
             static_cast<PackedQ4Block *>(tensor->data));
}

const char *typeName(ggml_backend_buffer_type_t /*type*/)
{
    return "CPU_PACKED_Q4";
}

std::size_t alignment(ggml_backend_buffer_type_t /*type*/)
{
    return ggml_backend_buft_get_alignment(ggml_backend_cpu_buffer_type());
}

ggml_backend_buffer_t allocate(ggml_backend_buffer_type_t type, std::size_t size)
{
    ggml_backend_buffer_t buffer = ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), size);
    if (buffer == nullptr)
        return nullptr;
    buffer->buft = type;
    buffer->iface.set_tensor = setTensor;
    buffer->iface.get_tensor = nullptr; // nobody may read what is packed as if it were Q4_1
    buffer->iface.cpy_tensor = nullptr;
    return buffer;
}

// ggml keeps such types for the life of the process.
ggml_backend_buffer_type_t packedBufferType()
{
    static OwnKernels support;
    static ggml_backend_buffer_type type{{typeName, allocate, alignment, nullptr, nullptr, nullptr},
                                         ggml_backend_reg_dev_get(ggml_backend_cpu_reg(), 0),
                                         &support};
    return &type;
}

} // namespace

void offerCpuKernels()
{
    auto &types = ggml_backend_cpu_get_extra_buffer_types();
    if (canMultiplyPacked() && canAttendCells()
        && std::find(types.begin(), types.end(), packedBufferType()) == types.end())
        types.push_back(packedBufferType());
}

Seconds hiddenCellCost(const ModelFacts &facts)
{
    // Measured with AVX2: ours looks once for each group of heads, ggml's own once for each head.
    constexpr Seconds forGroup{0.1e-9};
    constexpr Seconds forHead{3.6e-9};
    return (canAttendCells() ? forGroup * facts.kvHeadCount : forHead * facts.headCount) * facts.layerCount;
}

} // namespace engine
