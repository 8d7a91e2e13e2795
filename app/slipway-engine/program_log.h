#pragma once

#include <string>

/// Lines on stderr as vLLM's users know them: "INFO 11-30 16:57:03 text".
/// `level`: debug, info, warning or error.
void startLog(const std::string &level);

/// One line that says why the program ends: "slipway-engine serve: error: text".
void printError(const std::string &command, const std::string &text);
