#include "launcher/push/bundle.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "base/core/text.h"
#include "base/io/fd.h"
#include "base/io/sha256.h"
#include "launcher/limits.h"

namespace robustrun::launcher {
namespace {

constexpr std::size_t kNameDigits = 32;

std::string_view parent(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

// The names become part of a remote command and of sha256sum's list.
bool is_plain(std::string_view name) {
  constexpr std::string_view kSigns = "._-+/";
  return !name.empty() && name.front() != '-' && std::ranges::all_of(name, [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kSigns.find(c) != std::string_view::npos;
  });
}

// Agents must run this very build: if the file has been replaced, the running image is what counts.
std::string image_of(const std::string& path) {
  std::error_code error;
  const auto running = std::filesystem::read_symlink("/proc/self/exe", error);
  return running == path + " (deleted)" ? "/proc/self/exe" : path;
}

}  // namespace

base::Result<PushBundle> read_push_bundle(const std::string& executable,
                                          const std::vector<std::string>& companions) {
  const auto cannot = [](const std::string& path, const std::string& cause) {
    return base::fail(base::Errc::kInvalidArgument,
                      "cannot push " + base::printable(path) + ": " + cause);
  };
  const std::string prefix = std::string(parent(parent(executable))) + "/";
  std::vector<std::string> paths = companions;
  paths.insert(paths.begin(), executable);
  if (paths.size() > kBundleFilesMax) return cannot(prefix, "there are too many files");
  PushBundle bundle;
  std::size_t bytes = 0;
  for (const std::string& path : paths) {
    PushFile file;
    if (!path.starts_with(prefix)) return cannot(path, "it is not below " + prefix);
    file.name = path.substr(prefix.size());
    if (!is_plain(file.name)) return cannot(path, "its name has unusual characters");
    file.bytes = RR_TRY(base::read_file(image_of(path), kBundleBytesMax - bytes));
    file.executable = ::access(path.c_str(), X_OK) == 0;
    bytes += file.bytes.size();
    bundle.manifest += base::to_hex(base::sha256(file.bytes)) + "  " + file.name + "\n";
    bundle.files.push_back(std::move(file));
  }
  bundle.manifest_hash = base::to_hex(base::sha256(bundle.manifest));
  bundle.name = bundle.manifest_hash.substr(0, kNameDigits);
  return bundle;
}

}  // namespace robustrun::launcher
