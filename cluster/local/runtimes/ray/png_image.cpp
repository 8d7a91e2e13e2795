#include "cluster/local/runtimes/ray/png_image.h"

#include <algorithm>
#include <zlib.h>

namespace cluster::local {

RgbImage::RgbImage(int width_, int height_)
    : width(width_), height(height_),
      pixels(static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_))
{
}

void RgbImage::fill(int left, int top, int right, int bottom, Rgb colour)
{
    for (int y = std::max(0, top); y < std::min(bottom, height); ++y) {
        const auto row = pixels.begin() + static_cast<std::ptrdiff_t>(y) * width;
        std::fill(row + std::clamp(left, 0, width),
                  row + std::clamp(right, std::clamp(left, 0, width), width), colour);
    }
}

namespace {

std::string bigEndian(std::uint32_t number)
{
    std::string bytes;
    for (const int shift : {24, 16, 8, 0})
        bytes += static_cast<char>((number >> shift) & 0xFF);
    return bytes;
}

std::string chunk(const std::string &type, const std::string &data)
{
    const std::string covered = type + data;
    const auto sum
        = ::crc32(0, reinterpret_cast<const Bytef *>(covered.data()), static_cast<uInt>(covered.size()));
    return bigEndian(static_cast<std::uint32_t>(data.size())) + covered
        + bigEndian(static_cast<std::uint32_t>(sum));
}

} // namespace

std::string pngBytes(const RgbImage &image, const std::vector<std::pair<std::string, std::string>> &texts)
{
    std::string rows;
    rows.reserve(image.pixels.size() * 3 + static_cast<std::size_t>(image.height));
    for (int y = 0; y < image.height; ++y) {
        rows += '\0'; // no filter
        for (int x = 0; x < image.width; ++x) {
            const Rgb &pixel
                = image.pixels[static_cast<std::size_t>(y) * static_cast<std::size_t>(image.width)
                               + static_cast<std::size_t>(x)];
            rows += static_cast<char>(pixel.red);
            rows += static_cast<char>(pixel.green);
            rows += static_cast<char>(pixel.blue);
        }
    }
    uLongf size = ::compressBound(static_cast<uLong>(rows.size()));
    std::string packed(size, '\0');
    ::compress2(reinterpret_cast<Bytef *>(packed.data()), &size, reinterpret_cast<const Bytef *>(rows.data()),
                static_cast<uLong>(rows.size()),
                Z_BEST_SPEED); // cannot fail: the buffer is as large as it may get
    packed.resize(size);
    const char colour = 2; // RGB
    const std::string header = bigEndian(static_cast<std::uint32_t>(image.width))
        + bigEndian(static_cast<std::uint32_t>(image.height)) + std::string{8, colour, 0, 0, 0};
    std::string png("\x89PNG\r\n\x1a\n", 8);
    png += chunk("IHDR", header);
    for (const auto &[keyword, text] : texts)
        png += chunk("tEXt", keyword + '\0' + text);
    return png + chunk("IDAT", packed) + chunk("IEND", "");
}

} // namespace cluster::local
