#pragma once
// What this program imported in an earlier run, so that this run's first workers can be forked from
// one interpreter that holds the imports.
//
// Owned by the WorkerSet, on the agent's loop. The list lies in the user's cache
// (bootstrap/hot/profile_store.h) under all that decides what a script imports: its content, its
// arguments, the content of files that these name, and the environment. It is kept once a template
// that was made from it can serve all workers of the node. Nothing here can fail a start: without a
// list, workers start the usual way.

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

  // Calls `go` with the list of an earlier run of `node.workers`; empty: no list was found within
  // kImportsKnownMax.
  void find(std::function<void(std::string)> go);
  // Keeps the list in the file `path` for the next run. `is_first_node`: where nodes share the
  // cache, only that one writes.
  void keep(const std::string& path, bool is_first_node);
  // Workers that began with a list did not come to their first step: no list is used or kept for
  // these workers for kImportsSpoiltFor.
  void spoil();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace robustrun::agent
