#include "engine/serving/models_route.h"

#include "engine/serving/logprobs_json.h"
#include <nlohmann/json.hpp>

namespace engine {

using Json = nlohmann::ordered_json;

void serveModels(const ContextPtr &context, const ExchangePtr &exchange)
{
    const std::int64_t now = context->unixTime();
    Json cards = Json::array();
    for (const std::string &name : context->options.servedModelNames) {
        Json permission;
        permission["id"] = "modelperm-" + context->ids.hex(context->dialect.idDigits);
        permission["object"] = "model_permission";
        permission["created"] = now;
        permission["allow_create_engine"] = false;
        permission["allow_sampling"] = true;
        permission["allow_logprobs"] = true;
        permission["allow_search_indices"] = false;
        permission["allow_view"] = true;
        permission["allow_fine_tuning"] = false;
        permission["organization"] = "*";
        permission["group"] = nullptr;
        permission["is_blocking"] = false;
        Json card;
        card["id"] = name;
        card["object"] = "model";
        card["created"] = now;
        card["owned_by"] = "slipway";
        card["root"] = context->options.modelRoot;
        card["parent"] = nullptr;
        card["max_model_len"] = context->backend.facts().maxModelLen;
        card["permission"] = Json::array({std::move(permission)});
        cards.push_back(std::move(card));
    }
    Json answer;
    answer["object"] = "list";
    answer["data"] = std::move(cards);
    respondJson(*exchange, toText(answer));
}

} // namespace engine
