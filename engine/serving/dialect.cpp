#include "engine/serving/dialect.h"

namespace engine {

namespace {

Dialect makeNewest()
{
    Dialect dialect;
    dialect.metricsContentType = "text/plain; version=1.0.0; charset=utf-8";
    dialect.preflightMethods = "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT, QUERY";
    return dialect;
}

Dialect makeOld()
{
    Dialect dialect;
    dialect.api = ApiDialect::V085;
    dialect.nestedErrors = false;
    dialect.structuredParams = false;
    dialect.idDigits = 32;
    dialect.reasoningKey = "reasoning_content";
    dialect.emptyStreamOptionsMeansUsage = true;
    dialect.clipsToContext = false;
    dialect.extraNullFields = false;
    dialect.topKOff = -1;
    dialect.metricsContentType = "text/plain; version=0.0.4; charset=utf-8";
    dialect.preflightMethods = "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT";
    return dialect;
}

} // namespace

const Dialect &dialectOf(ApiDialect api)
{
    static const Dialect newest = makeNewest();
    static const Dialect old = makeOld();
    return api == ApiDialect::V085 ? old : newest;
}

} // namespace engine
