#pragma once

#include "cluster/base/result.h"

#include <functional>
#include <string>
#include <string_view>

namespace cluster {

/// A BERT sentence encoder as its authors publish it.
struct BertModelFiles
{
    std::string config; ///< config.json
    std::string vocabulary; ///< vocab.txt: one word piece a line
    std::string weights; ///< model.safetensors
};

/// The same model as GGUF: matrices in F16; norms, biases, positions and token types in F32; mean pooling.
/// The pooler head is left out, it has no part in the embeddings. Errors: DataLoss, with what is wrong, for
/// files that don't fit each other; those of `sink`.
Status writeBertAsGguf(const BertModelFiles &files, const std::string &name, const std::string &licence,
                       const std::function<Status(std::string_view)> &sink);

} // namespace cluster
