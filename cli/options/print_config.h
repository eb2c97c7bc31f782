#pragma once
// --print-config: the merged settings with the origin of each value. Secrets (--notify, and those
// in the script's arguments) are shown as ***. Control characters, and bytes that are not UTF-8,
// become \xNN. Options without a TOML key are left out. Pure.

#include <string>

#include "cli/options/settings.h"

namespace robustrun::cli {

// One object: {"script": …, "args": […], "options": {"tee": {"value": …, "origin": …, "from": …}}}.
[[nodiscard]] std::string config_json(const Settings& settings);

// A file for --config. Its values differ from the settings only in secrets and in \xNN. Comments
// give the origins.
[[nodiscard]] std::string config_toml(const Settings& settings);

}  // namespace robustrun::cli
