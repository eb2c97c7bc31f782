#include "agent/evidence/tracer_library.h"

#include <unistd.h>

#include "agent/node/limits.h"

namespace robustrun::agent {

std::string tracer_library(const wire::WorkerTemplate& workers) {
  const std::size_t slash = workers.python_path.rfind('/');
  if (!workers.trace || slash == std::string::npos) return {};
  std::string path = workers.python_path.substr(0, slash) + "/librobustrun_tracer.so";
  const bool is_usable = path.size() <= kTracerPathBytesMax && ::access(path.c_str(), R_OK) == 0;
  return is_usable ? path : std::string();
}

}  // namespace robustrun::agent
