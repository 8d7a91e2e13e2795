#pragma once

#include "cluster/base/result.h"

#include <string>

namespace cluster::local {

/// Why a SQLite file in WAL mode can't be what it was, as far as that shows without opening it: an empty file
/// with a log, which SQLite would throw away. Empty: nothing is wrong.
std::string visibleDamage(const std::string &path);

/// DataLoss, with what to do. The damaged file is copied first, beside itself under a name that a reset
/// leaves alone; once, however often it is tried.
tl::unexpected<Error> damagedStore(const std::string &path, const std::string &why);

} // namespace cluster::local
