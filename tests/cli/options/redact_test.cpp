#include "cli/options/redact.h"

#include <doctest/doctest.h>

namespace robustrun::cli::redact_test {

TEST_CASE("values of secret names are hidden, whatever form they have") {
  const std::vector<std::string> argv{"train.py",   "--api-key", "abc",      "--token=xyz",
                                      "HF_TOKEN=1", "--lr",      "3",        "--password",
                                      "--verbose",  "monkey",    "--Secret", "s3"};
  const std::vector<std::string> shown{"train.py",     "--api-key", "***",      "--token=***",
                                       "HF_TOKEN=***", "--lr",      "3",        "--password",
                                       "--verbose",    "monkey",    "--Secret", "***"};
  CHECK(redacted(argv) == shown);
  CHECK(redacted_assignment("WANDB_API_KEY=abc=def") == "WANDB_API_KEY=***");
  CHECK(redacted_assignment("PATH=/usr/bin") == "PATH=/usr/bin");
  CHECK(redacted_assignment("TOKEN") == "TOKEN");
  CHECK(is_secret_name("db_passwd"));
  CHECK(redacted(std::vector<std::string>{"--notify", "slack:https://h/x", "--notify=ntfy:u",
                                          "ROBUSTRUN_NOTIFY=a"}) ==
        std::vector<std::string>{"--notify", "***", "--notify=***", "ROBUSTRUN_NOTIFY=***"});
  CHECK_FALSE(is_secret_name("--notify-stalled"));
  CHECK_FALSE(is_secret_name("--lr"));
  CHECK(redacted(std::vector<std::string>{}).empty());
}

TEST_CASE("the login of a URL is hidden, and the rest of it shown") {
  CHECK(redacted_assignment("--image=https://ada:pw@h:8/a.sqsh") ==
        "--image=https://***@h:8/a.sqsh");
  CHECK(redacted_assignment("http://h/a@b") == "http://h/a@b");
  CHECK(redacted_assignment("ssh://ada@") == "ssh://***@");
}

}  // namespace robustrun::cli::redact_test
