#pragma once
// What this program imported in an earlier run, so that this run's first workers can be forked from
// one interpreter that holds the imports.
//
// Owned by the WorkerSet, on the agent's loop. The list lies in the user's cache
// (bootstrap/hot/profile_store.h), for this program with these arguments. It is kept once a
// template that was made from it can serve all workers of the node, and is used while the program's
// own files are what they were. Nothing here can fail a start: without a list, workers start the
// usual way.

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

  // Calls `go` with the list of an earlier run of `node.workers`, or with nothing if there is none
  // within kImportsKnownMax.
  void find(std::function<void(std::string)> go);
  // Keeps the list in the file `path` for the next run, unless first workers that had its imports
  // ended before their first step in an earlier one.
  void keep(const std::string& path);
  // The first workers had the imports of the list that find() gave, and ended before their first
  // step. The list is not used again as long as it stays the same.
  void spoil();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace robustrun::agent
