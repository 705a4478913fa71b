#pragma once

#include <chrono>
#include <string>

namespace conform {

/// A gzip body; two levels give two spellings of one content.
std::string gzip(std::string plain, int level);

/// The date of a header, so far from now.
std::string fixdate(std::chrono::seconds from_now);

}  // namespace conform
