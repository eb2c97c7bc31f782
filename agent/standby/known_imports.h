#pragma once
// The list of modules that this program imported in an earlier run, so that this run's first
// workers can be forked from a template.
//
// Owned by the WorkerSet, on the agent's loop. The list lies in the cache
// (bootstrap/hot/profile_store.h). Its name depends on everything that decides what a script
// imports: the interpreter, the script's content, its arguments, the content of files that the
// arguments name, and the environment. Nothing here can fail a start: without a list, workers start
// as new interpreters.

#include <functional>
#include <memory>
#include <string>

#include "agent/node/node_context.h"

namespace robustrun::agent {

class KnownImports {
 public:
  explicit KnownImports(NodeContext& node);
  ~KnownImports();
  KnownImports(const KnownImports&) = delete;
  KnownImports& operator=(const KnownImports&) = delete;

  // Calls `go` with the list that an earlier run left for NodeContext::workers, perhaps before this
  // returns. Empty: no list was found within kImportsKnownMax.
  void find(std::function<void(std::string)> go);
  // Keeps the list in the file `path` for the next run. If nodes share the cache, only the first
  // node (`is_first_node`) writes.
  void keep(const std::string& path, bool is_first_node);
  // To be called if workers that began with a list did not come to their first step. For
  // kImportsSpoiltFor, no list is then used or kept for these workers.
  void spoil();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace robustrun::agent
