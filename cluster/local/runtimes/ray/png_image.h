#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cluster::local {

struct Rgb
{
    std::uint8_t red = 0, green = 0, blue = 0;
};

/// A picture of 8-bit RGB.
struct RgbImage
{
    int width = 0, height = 0;
    std::vector<Rgb> pixels; ///< row by row

    RgbImage(int width, int height);
    void fill(int left, int top, int right, int bottom, Rgb colour); ///< without right and bottom; cut to fit
};

/// PNG bytes (ISO/IEC 15948): RGB, no interlace. \param texts  keyword and text, each a tEXt chunk
std::string pngBytes(const RgbImage &image,
                     const std::vector<std::pair<std::string, std::string>> &texts = {});

} // namespace cluster::local
