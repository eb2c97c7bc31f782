#pragma once
// An open directory that closes itself.

#include <dirent.h>

#include <memory>

namespace robustrun::agent {

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;

}  // namespace robustrun::agent
