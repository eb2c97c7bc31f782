#pragma once
// Lists of hosts: "node[01-16,20],gpu-[a,b]x,ada@login:2222,[::1]:22,10.0.0.[1-4]". Also reads the
// node lists that scontrol and sinfo print.
//
//   list  = item *(("," / blanks) item)
//   item  = [user "@"] name [":" port]
//   name  = as in base/core/name_list.h; or an IPv6 address in brackets
//
// Pure. An error is only the cause, if possible with the position of the wrong character, from 1;
// the caller puts "cannot use …: " before it.

#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "launcher/hosts/host.h"

namespace robustrun::launcher {

// Returns at least one host, in the order written. kConflict: a host (name and port) is named
// twice.
[[nodiscard]] base::Result<std::vector<Host>> parse_host_list(std::string_view text);

// As parse_host_list(), but hosts may be named twice: for a part of a larger list.
[[nodiscard]] base::Result<std::vector<Host>> expand_host_list(std::string_view text);
// kConflict: a host (name and port, with any user) is named twice.
[[nodiscard]] base::Status check_distinct(const std::vector<Host>& hosts);

// node2 before node10; equal names by port.
void sort_naturally(std::vector<Host>& hosts);

// "ada@node1:2222": as it could stand in a list.
[[nodiscard]] std::string to_text(const Host& host);

}  // namespace robustrun::launcher
