#pragma once
// The files that are pushed to a host without this build: our executable and its companions, in the
// same layout as here, with a list of their hashes.

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
  std::vector<PushFile> files;  // the executable first
  std::string manifest;  // hashes and names, as sha256sum -c reads them
  std::string manifest_hash;  // hex SHA-256
  std::string name;  // first 32 digits of manifest_hash: the folder's name in the cache
};

// Reads the files; blocks. `executable` is PREFIX/bin/robustrun; `companions` are anywhere below
// PREFIX. kInvalidArgument: a file is not below PREFIX, a name has unusual characters, or there are
// too many files (kBundleFilesMax). Other errors are those of base::read_file().
base::Result<PushBundle> read_push_bundle(const std::string& executable,
                                          const std::vector<std::string>& companions);

}  // namespace robustrun::launcher
