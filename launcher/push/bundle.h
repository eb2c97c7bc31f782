#pragma once
// What is pushed to a host that has not got this build: our executable and its companions, laid
// out as here, with a list of their hashes.

#include <string>
#include <vector>

#include "base/core/result.h"

namespace robustrun::launcher {

struct PushFile {
  std::string name;  // relative to the prefix: "bin/robustrun"
  std::string bytes;
  bool executable = false;
};

struct PushBundle {
  std::vector<PushFile> files;    // the executable first
  std::string manifest;           // as sha256sum -c reads it
  std::string manifest_hash;      // hex SHA-256
  std::string name;               // its first 32 digits: the folder's name in the cache
};

// Blocks: for the pool. `executable` lies in a folder of the prefix (PREFIX/bin/robustrun);
// `companions` lie anywhere below the prefix.
base::Result<PushBundle> read_push_bundle(const std::string& executable,
                                          const std::vector<std::string>& companions);

}  // namespace robustrun::launcher
