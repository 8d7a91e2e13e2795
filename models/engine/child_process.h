#pragma once

class QProcess;

namespace models {

/// The program that `process` starts is killed when this process ends, in whatever way. Call it before
/// start().
void endWithThisProcess(QProcess &process);

} // namespace models
