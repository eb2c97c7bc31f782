#pragma once
// Copies the profile of an image's hot blocks (bootstrap/hot/block_profile.h), the blocks that a
// start reads, between the cache and the file IMAGE.hot beside the image. So nodes with an empty
// cache use the profile of an earlier node. Blocks as long as the image's file system does; any
// thread.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <string>

#include "base/core/result.h"
#include "base/io/blocking_pool.h"

namespace robustrun::agent {

// Copies IMAGE.hot to the cache, if the cache has no profile. Errors: IMAGE.hot does not exist, is
// damaged, or is of another image.
base::Status take_hot_blocks(const std::string& image, const std::string& cache);
// Copies the cache's profile to IMAGE.hot, readable as this process's umask allows. Replaces a
// damaged profile and one of another image. Replaces a profile of this image only if `anew` is set
// and its blocks are different. Errors: IMAGE.hot does not begin like a profile, the cache has no
// profile, or the folder is not writable. A successful write also removes half-written profiles
// that a crash left.
base::Status leave_hot_blocks(const std::string& image, const std::string& cache, bool anew);

// Runs take_hot_blocks() on a thread of `pool`. Calls `then` once, on `executor`: when
// take_hot_blocks() has returned, whatever the result, but after kImageProfileMax at the latest. If
// the pool takes no job, calls `then` at once.
void take_hot_blocks_in_time(const boost::asio::any_io_executor& executor, base::BlockingPool& pool,
                             const std::string& image, const std::string& cache,
                             std::function<void()> then);
// Runs leave_hot_blocks() on a thread of `pool`; errors are ignored.
void leave_hot_blocks_on(base::BlockingPool& pool, const std::string& image,
                         const std::string& cache, bool anew);

}  // namespace robustrun::agent
