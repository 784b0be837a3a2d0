// The whole of fmt, compiled once: Debian has no static library of it, and header-only costs 5 s a file.
#include <fmt/format-inl.h>

// Declared `extern template` in fmt's headers, so somebody must instantiate them.
template fmt::detail::thousands_sep_result<char> fmt::detail::thousands_sep_impl<char>(fmt::detail::locale_ref);
template char fmt::detail::decimal_point_impl<char>(fmt::detail::locale_ref);
