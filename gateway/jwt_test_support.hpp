#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include <gateway/public_key.hpp>

#include <callonce/engine/environment.hpp>

namespace callonce::gateway {

/// A wall clock that stands where a test puts it.
class wall_clock final : public environment {
 public:
  static constexpr std::int64_t start = 1'769'847'330;

  steady_time now() const override { return {}; }
  std::chrono::system_clock::time_point wall() const override { return wall_; }
  void fill_random(std::span<std::byte>) override {}
  std::unique_ptr<alarm> call_at(const asio::any_io_executor&, steady_time,
                                 std::function<void()>) override {
    return nullptr;
  }
  void pass(std::chrono::seconds time) { wall_ += time; }

 private:
  std::chrono::system_clock::time_point wall_{std::chrono::seconds{start}};
};

/// A key pair of an issuer of tokens, who signs with OpenSSL and without the library under test.
class signer {
 public:
  static signer rsa(unsigned bits);
  static signer ec(const char* curve);

  std::string public_pem() const;
  std::string private_pem() const;
  std::string certificate_pem() const;
  /// The public key as JWK; `more` are further members, e.g. R"("kid":"a",)".
  std::string jwk(const std::string& more = {}) const;

  std::string token(std::string_view algorithm, const std::string& header,
                    const std::string& payload) const;
  /// With the header {"alg":algorithm}.
  std::string token(std::string_view algorithm, const std::string& payload) const;

 private:
  explicit signer(EVP_PKEY* key) : key_(key) {}
  std::string sign(std::string_view algorithm, std::string_view text) const;
  std::string number(const char* name, std::size_t bytes) const;

  evp_key key_;
};

/// Made once, since an RSA key takes a while.
const signer& rsa_signer();
const signer& other_rsa_signer();
const signer& ec_signer();

std::string to_base64url(std::string_view bytes);
std::string hmac_sha256(std::string_view secret, std::string_view text);

/// A directory of the test's own, gone afterwards.
class key_directory {
 public:
  key_directory();
  key_directory(const key_directory&) = delete;
  key_directory& operator=(const key_directory&) = delete;
  ~key_directory();

  std::filesystem::path write(const std::string& text);
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
  int written_ = 0;
};

}  // namespace callonce::gateway
