/// HTML under construction. Interpolated values are escaped; literal parts are not.
struct HTMLText: ExpressibleByStringInterpolation, Sendable {
    private(set) var text = ""

    init(stringLiteral value: String) { text = value }

    init(stringInterpolation: Interpolation) { text = stringInterpolation.text }

    init() {}

    mutating func append(_ other: HTMLText) { text += other.text }

    struct Interpolation: StringInterpolationProtocol {
        fileprivate var text = ""

        init(literalCapacity: Int, interpolationCount: Int) {}

        mutating func appendLiteral(_ literal: String) { text += literal }

        mutating func appendInterpolation(_ value: String) { text += HTMLText.escaped(value) }

        mutating func appendInterpolation(_ value: Int) { text += "\(value)" }

        mutating func appendInterpolation(_ value: HTMLText) { text += value.text }
    }

    /// Safe in text and in quoted attributes.
    static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
