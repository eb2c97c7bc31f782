#include "agent/worker/error_file.h"

#include <cerrno>

#include "agent/node/limits.h"
#include "agent/node/worker_file.h"
#include "agent/node/worker_json.h"

namespace robustrun::agent {
namespace {

base::Result<wire::ErrorFile> read_and_parse(const std::string& path) {
  const std::string text = RR_TRY(read_worker_file(path, kErrorFileBytesMax));
  return parse_error_file(text);
}

}  // namespace

std::optional<wire::ErrorFile> read_error_file(const std::string& path) {
  if (path.empty()) return std::nullopt;
  auto parsed = read_and_parse(path);
  if (!parsed && (parsed.error().os_errno == ENOENT || parsed.error().os_errno == ENOTDIR)) {
    return std::nullopt;
  }
  wire::ErrorFile file;
  if (parsed) {
    file = *std::move(parsed);
  } else {
    file.message = "the worker's error file says nothing: " + parsed.error().what;
  }
  file.path = path;
  return file;
}

}  // namespace robustrun::agent
