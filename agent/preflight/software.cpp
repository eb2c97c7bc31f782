#include "agent/preflight/software.h"

#include "agent/node/limits.h"
#include "base/core/text.h"

namespace robustrun::agent {
namespace {

// sys.path[0] of -c is the working directory, which a script does not have.
constexpr const char* kReadVersions = R"(import os, sys
torch = ""
for folder in sys.path[1:]:
    try:
        with open(os.path.join(folder, "torch", "version.py")) as file:
            lines = file.read(65536).splitlines()
    except OSError:
        continue
    for line in lines:
        if line.startswith("__version__"):
            torch = line.partition("=")[2].strip().strip("'\"")
    break
print("python " + sys.version.split()[0])
print("torch " + torch)
)";

constexpr const char* kImportVersions = R"(import sys
sys.path.pop(0)
torch = ""
try:
    import torch as module
    torch = module.__version__
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
print("python " + sys.version.split()[0])
print("torch " + str(torch))
)";

}  // namespace

std::vector<std::string> software_question(const std::string& interpreter, bool full) {
  return {interpreter, "-c", full ? kImportVersions : kReadVersions};
}

base::Software read_software(const base::Result<std::string>& answer) {
  base::Software found;
  found.asked = true;
  if (!answer) {
    found.error = answer.error().what.substr(0, kFactBytesMax);
    found.missing = answer.error().code == base::Errc::kNotFound;
    return found;
  }
  constexpr std::string_view kPython = "python ";
  constexpr std::string_view kTorch = "torch ";
  for (const std::string_view line : base::split(*answer, '\n')) {
    if (line.starts_with(kPython)) found.python = line.substr(kPython.size(), kVersionBytesMax);
    if (line.starts_with(kTorch)) found.torch = line.substr(kTorch.size(), kVersionBytesMax);
  }
  if (found.python.empty()) found.error = "its answer makes no sense";
  return found;
}

}  // namespace robustrun::agent
