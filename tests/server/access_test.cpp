#include "server/access.h"

#include <gtest/gtest.h>

#include <string>

namespace smoe::server {
namespace {

HttpRequest request_with(std::vector<HttpHeader> headers) {
  HttpRequest request;
  request.method = "POST";
  request.path = "/v1/chat/completions";
  request.headers = std::move(headers);
  return request;
}

unsigned origin_status(const std::string& host, const std::string& origin,
                       const AccessPolicy& policy) {
  std::vector<HttpHeader> headers{{"host", host}};
  if (!origin.empty()) headers.push_back({"origin", origin});
  const auto error = check_origin(request_with(std::move(headers)), policy);
  return error ? error->status : 200;
}

unsigned key_status(std::vector<HttpHeader> headers, const AccessPolicy& policy) {
  const auto error = check_key(request_with(std::move(headers)), policy);
  return error ? error->status : 200;
}

// RELIABILITY S10; DNS rebinding as in CVE-2024-28224.
TEST(Access, KnowsItsHosts) {
  AccessPolicy policy{.bind_host = "192.168.1.5"};
  policy.allowed_hosts = {"box.lan"};
  struct Row {
    std::string host;
    unsigned status;
  };
  for (const Row& row :
       {Row{"localhost:7235", 200}, Row{"LOCALHOST", 200}, Row{"127.0.0.1:7235", 200},
        Row{"127.0.0.9", 200}, Row{"[::1]:7235", 200}, Row{"a.localhost", 200},
        Row{"192.168.1.5:1", 200}, Row{"box.lan:80", 200}, Row{"evil.example", 403},
        Row{"127.0.0.1.evil.example", 403}, Row{"localhost.evil.example", 403}, Row{"", 403},
        Row{"192.168.1.50", 403}, Row{"[::2]", 403}, Row{"[", 403}, Row{"box.lan.evil", 403}})
    EXPECT_EQ(origin_status(row.host, "", policy), row.status) << row.host;
  policy.allowed_hosts = {"*"};
  EXPECT_EQ(origin_status("anything", "", policy), 200U);
}

TEST(Access, AsksNothingOfTheHostOfAUnixSocket) {
  HttpRequest request = request_with({{"host", "whatever"}});
  request.local_socket = true;
  EXPECT_FALSE(check_origin(request, {}));
}

TEST(Access, RefusesPagesOfOtherSites) {
  const AccessPolicy none;
  AccessPolicy local;
  local.cors_origins = {"localhost"};
  AccessPolicy named;
  named.cors_origins = {"https://app.example"};
  AccessPolicy all;
  all.cors_origins = {"*"};
  struct Row {
    std::string origin;
    unsigned none, local, named, all;
  };
  for (const Row& row : {
           Row{"", 200, 200, 200, 200},
           Row{"http://localhost:7235", 200, 200, 200, 200},  // the page itself
           Row{"http://localhost:5173", 403, 200, 403, 200},
           Row{"http://127.0.0.1:5173", 403, 200, 403, 200},
           Row{"https://app.example", 403, 403, 200, 200},
           Row{"http://app.example", 403, 403, 403, 200},
           Row{"https://app.example.evil", 403, 403, 403, 200},
           Row{"null", 403, 403, 403, 200},
       }) {
    EXPECT_EQ(origin_status("localhost:7235", row.origin, none), row.none) << row.origin;
    EXPECT_EQ(origin_status("localhost:7235", row.origin, local), row.local) << row.origin;
    EXPECT_EQ(origin_status("localhost:7235", row.origin, named), row.named) << row.origin;
    EXPECT_EQ(origin_status("localhost:7235", row.origin, all), row.all) << row.origin;
  }
}

TEST(Access, TellsBrowsersOnlyWhereItWasAllowed) {
  AccessPolicy policy;
  HttpRequest request = request_with({{"host", "localhost"}, {"origin", "https://a.example"}});
  EXPECT_TRUE(cors_headers(request, policy).empty());
  policy.cors_origins = {"https://a.example"};
  EXPECT_EQ(cors_headers(request, policy).front().value, "https://a.example");
  const size_t simple = cors_headers(request, policy).size();
  request.method = "OPTIONS";
  EXPECT_GT(cors_headers(request, policy).size(), simple);
}

TEST(Access, WantsAKeyWhereThereAreAny) {
  AccessPolicy policy;
  EXPECT_EQ(key_status({}, policy), 200U);
  policy.keys = {"first", "second-key"};
  EXPECT_EQ(key_status({{"authorization", "Bearer first"}}, policy), 200U);
  EXPECT_EQ(key_status({{"authorization", "bearer second-key"}}, policy), 200U);
  EXPECT_EQ(key_status({{"x-api-key", "second-key"}}, policy), 200U);
  for (const std::string wrong :
       {"", "firs", "first ", "firstfirst", "First", "second-keysecond-key", "third"}) {
    EXPECT_EQ(key_status({{"authorization", "Bearer " + wrong}}, policy), 401U) << wrong;
    EXPECT_EQ(key_status({{"x-api-key", wrong}}, policy), 401U) << wrong;
  }
  EXPECT_EQ(key_status({{"authorization", "Basic first"}}, policy), 401U);
}

TEST(Access, ReadsKeysFromAFile) {
  EXPECT_EQ(keys_of("# ours\none\r\n\ntwo  \n#three\nfour"),
            (std::vector<std::string>{"one", "two", "four"}));
}

}  // namespace
}  // namespace smoe::server
