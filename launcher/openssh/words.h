#pragma once
// Interprets the standard error of an OpenSSH client that failed (exit code 255). Pure.

#include <string>
#include <string_view>

#include "launcher/ssh_link.h"

namespace robustrun::launcher {

struct OpenSshWords {
  SshTrouble trouble = SshTrouble::kOther;
  std::string what;  // the cause, with advice
};
// `server_key`: "ssh-ed25519 SHA256:..." that the server has shown; empty: unknown.
[[nodiscard]] OpenSshWords read_openssh_words(std::string_view errors, std::string_view server_key);

// Keeps the first kErrorHeadBytes of a verbose client's standard error, without its debug output.
class OpenSshErrors {
 public:
  void add(std::string_view bytes);
  void finish();  // takes an incomplete last line
  [[nodiscard]] const std::string& head() const { return head_; }
  [[nodiscard]] const std::string& server_key() const { return server_key_; }

 private:
  void add_line(std::string_view line);
  std::string line_;
  std::string head_;
  std::string server_key_;
};

// The first lines of a program's output, joined into one printable line; empty if there was no
// output.
[[nodiscard]] std::string first_words(std::string_view errors);

}  // namespace robustrun::launcher
