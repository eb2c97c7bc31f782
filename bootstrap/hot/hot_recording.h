#pragma once
// Makes a profile of what workers read: which of these files are worth reading ahead, and which
// parts. Blocks as long as their file systems do.

#include <cstdint>
#include <vector>

#include "bootstrap/hot/hot_profile.h"
#include "bootstrap/hot/touched_files.h"

namespace robustrun::bootstrap {

// Regular files alone, each once whatever it is called, none that lies in memory. `shared_only`:
// none on a disk of this machine either. Of files of kResidentFrom bytes and more only what is in
// the page cache counts, where that can be asked; where it cannot, they count as a whole up to
// kWholeMappedMax if they were mapped, and up to kWholeReadMax if not. `now_s`: Unix time.
[[nodiscard]] HotProfile record_profile(const std::vector<TouchedFile>& touched, bool shared_only,
                                        std::int64_t now_s);

}  // namespace robustrun::bootstrap
