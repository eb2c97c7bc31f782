#pragma once
// Lists of hosts: "node[01-16,20],gpu-[a,b]x,ada@login:2222,[::1]:22,10.0.0.[1-4]". Also reads the
// node lists that scontrol and sinfo print.
//
//   list  = item *(("," / blanks) item)
//   item  = [user "@"] name [":" port]
//   name  = as in base/core/name_list.h; or an IPv6 address in brackets
//
// Pure. An error is only the cause, with the position of the wrong character, from 1, if there is
// one; the caller puts "cannot use …: " before it.

#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "launcher/hosts/host.h"

namespace robustrun::launcher {

// At least one host, in the order written, none named twice (by name and port).
[[nodiscard]] base::Result<std::vector<Host>> parse_host_list(std::string_view text);

// The same for a list that may be part of a larger one: duplicates are left to the caller.
[[nodiscard]] base::Result<std::vector<Host>> expand_host_list(std::string_view text);
// kConflict for the first host that occurs twice, whatever its user.
[[nodiscard]] base::Status check_distinct(const std::vector<Host>& hosts);

// node2 before node10; equal names by port.
void sort_naturally(std::vector<Host>& hosts);

// "ada@node1:2222": as it could stand in a list.
[[nodiscard]] std::string to_text(const Host& host);

}  // namespace robustrun::launcher
