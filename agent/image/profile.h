#pragma once
// The profile of an image's hot blocks (bootstrap/hot/block_profile.h) beside the image, as
// IMAGE.hot: nodes with an empty cache start with what an earlier node has learned. Blocks as long
// as the image's file system does; any thread.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <string>

#include "base/core/result.h"
#include "base/io/blocking_pool.h"

namespace robustrun::agent {

// Copies IMAGE.hot to the cache, if the cache has no profile. Errors: IMAGE.hot does not exist, is
// damaged, or is of another image.
base::Status take_hot_blocks(const std::string& image, const std::string& cache);
// Copies the cache's profile to IMAGE.hot, readable as this process's umask allows. Left alone: a
// profile of this image, unless `anew` and its blocks differ; and a file that is not a profile,
// which is an error. A damaged profile, or one of another image, is replaced. Other errors: nothing
// was learned, or the folder is not writable. A successful write also removes half-written profiles
// that a crash left.
base::Status leave_hot_blocks(const std::string& image, const std::string& cache, bool anew);

// take_hot_blocks() on a lane of `pool`, which may hang with the image's file system. `then` is
// called once, on `executor`: when take_hot_blocks() has returned, with whatever result, or
// kImageProfileMax later; before this function returns, if the pool takes no job.
void take_hot_blocks_in_time(const boost::asio::any_io_executor& executor, base::BlockingPool& pool,
                             const std::string& image, const std::string& cache,
                             std::function<void()> then);
void leave_hot_blocks_on(base::BlockingPool& pool, const std::string& image,
                         const std::string& cache, bool anew);

}  // namespace robustrun::agent
