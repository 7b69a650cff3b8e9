import JSON
import Net

/// The members of a control request's JSON object. The caller takes them one by one; a remaining
/// member is unknown and refused.
struct ControlFields {
    private var values: [String: JSONValue] = [:]
    private var known: [String] = []

    init(_ body: UnsafeRawBufferPointer) throws(SLSRefusal) {
        let value: JSONValue
        do {
            value = try JSONValue(parsing: Array(body))
        } catch {
            throw .badParameter("The body is not JSON: \(error.reason) (byte \(error.position)).")
        }
        guard case .object(let members) = value else {
            throw .badParameter("The body is \(value.kind), an object is expected.")
        }
        for member in members {
            guard values.updateValue(member.value, forKey: member.name) == nil else {
                throw .badParameter("\(member.name) is given twice.")
            }
        }
    }

    /// nil when it is absent or null.
    private mutating func take(_ name: String) -> JSONValue? {
        known.append(name)
        let value = values.removeValue(forKey: name)
        return value == .null ? nil : value
    }

    mutating func text(_ name: String, bytesMax: Int = 256) throws(SLSRefusal) -> String? {
        guard let value = take(name) else { return nil }
        guard case .string(let text) = value else { throw wrong(name, value, "a string") }
        guard !text.isEmpty, text.utf8.count <= bytesMax else {
            throw .badParameter(
                "\(name) has \(text.utf8.count) bytes, 1 to \(bytesMax) are allowed."
            )
        }
        return text
    }

    /// A list of at most 16 addresses.
    mutating func addresses(_ name: String) throws(SLSRefusal) -> [IPAddress]? {
        guard let value = take(name) else { return nil }
        guard let elements = value.elements, elements.count <= 16 else {
            throw wrong(name, value, "a list of at most 16 addresses")
        }
        var addresses: [IPAddress] = []
        for element in elements {
            guard let address = element.text.flatMap({ IPAddress($0) }) else {
                throw .badParameter("\(name): \(element.text ?? element.kind) is not an address.")
            }
            addresses.append(address)
        }
        return addresses
    }

    mutating func flag(_ name: String) throws(SLSRefusal) -> Bool? {
        guard let value = take(name) else { return nil }
        guard case .bool(let flag) = value else { throw wrong(name, value, "true or false") }
        return flag
    }

    mutating func number(_ name: String, in range: ClosedRange<Double>) throws(SLSRefusal)
        -> Double?
    {
        guard let value = take(name) else { return nil }
        guard case .number(let number) = value else { throw wrong(name, value, "a number") }
        guard range.contains(number) else {
            throw .badParameter(
                "\(name) is \(number), \(range.lowerBound) to \(range.upperBound) is allowed."
            )
        }
        return number
    }

    mutating func integer(_ name: String, in range: ClosedRange<Int>) throws(SLSRefusal) -> Int? {
        guard let value = take(name) else { return nil }
        guard case .number(let number) = value, let integer = Int(exactly: number) else {
            throw wrong(name, value, "a whole number")
        }
        guard range.contains(integer) else {
            throw .badParameter(
                "\(name) is \(integer), \(range.lowerBound) to \(range.upperBound) is allowed."
            )
        }
        return integer
    }

    /// Call this last.
    func refuseUnknown() throws(SLSRefusal) {
        guard let name = values.keys.min() else { return }
        throw .badParameter(
            "\(name) is unknown; known are: \(known.joined(separator: ", "))."
        )
    }

    private func wrong(_ name: String, _ value: JSONValue, _ expected: String) -> SLSRefusal {
        if case .number(let number) = value {
            return .badParameter("\(name) is \(number), \(expected) is expected.")
        }
        return .badParameter("\(name) is \(value.kind), \(expected) is expected.")
    }
}
