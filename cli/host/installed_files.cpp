#include "cli/host/installed_files.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

namespace robustrun::cli {

namespace fs = std::filesystem;

std::vector<std::string> installed_files(const std::string& executable, bool serves_images) {
  std::vector<std::string> files;
  std::error_code error;
  const fs::path bin = fs::path(executable).parent_path();
  for (const char* const name : {"robustrun-shim", "robustrun-probe", "robustrun-blocks"}) {
    if (name == std::string_view("robustrun-blocks") && !serves_images) continue;
    if (const fs::path helper = bin / name; fs::exists(helper, error)) {
      files.push_back(helper.string());
    }
  }
  const fs::path share = bin.parent_path() / "share/robustrun";
  for (const char* const name : {"librobustrun.so", "librobustrun_tracer.so"}) {
    if (const fs::path library = share / name; fs::exists(library, error)) {
      files.push_back(library.string());
    }
  }
  const fs::path python = share / "python/robustrun";
  for (auto it = fs::recursive_directory_iterator(python, error);
       !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    if (it->path().extension() == ".py") files.push_back(it->path().string());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace robustrun::cli
