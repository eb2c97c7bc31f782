#pragma once
// The profile of an image's hot blocks (bootstrap/hot/block_profile.h) beside the image, as
// IMAGE.hot: what one node has learned, nodes with an empty cache begin with. Blocks as long as the
// image's file system does; any thread.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <string>

#include "base/core/result.h"
#include "base/io/blocking_pool.h"

namespace robustrun::agent {

// IMAGE.hot becomes the cache's profile, should it have none. Errors: nothing is there, or no whole
// profile of that image.
base::Status take_hot_blocks(const std::string& image, const std::string& cache);
// The cache's profile becomes IMAGE.hot, readable as the umask of this process has it. One that
// names the same blocks is left as it is; so is any whole one, unless `anew`, and a file that is
// none of ours. Errors: that, nothing was learned, or the folder is not to be written. Whoever
// writes it removes what a crash left of earlier ones.
base::Status leave_hot_blocks(const std::string& image, const std::string& cache, bool anew);

// The same on a lane of `pool`, which may hang with the image's file system. `then` is called once,
// on `executor`: when the profile was taken, or kImageProfileMax later.
void take_hot_blocks_in_time(const boost::asio::any_io_executor& executor, base::BlockingPool& pool,
                             const std::string& image, const std::string& cache,
                             std::function<void()> then);
void leave_hot_blocks_on(base::BlockingPool& pool, const std::string& image,
                         const std::string& cache, bool anew);

}  // namespace robustrun::agent
