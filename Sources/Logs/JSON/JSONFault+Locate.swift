extension JSONFault {
    /// The place of a mistake of which simdjson says only that it exists: a slow walk, taken for
    /// refused bodies only.
    static func first(in text: UnsafeBufferPointer<UInt8>) -> JSONFault {
        var position = 0
        var stringStart: Int?
        while position < text.count {
            let byte = text[position]
            switch byte {
            case 0x80...:
                let size = wellFormedSize(text, position)
                guard size > 0 else { return JSONFault(.badUTF8, at: position) }
                guard stringStart != nil else {
                    return JSONFault(.unexpectedCharacter, at: position)
                }
                position += size
                continue
            case UInt8(ascii: "\""):
                stringStart = stringStart == nil ? position : nil
            case UInt8(ascii: "\\"):
                guard stringStart != nil else {
                    return JSONFault(.unexpectedCharacter, at: position)
                }
                // What follows cannot end the string; control characters are still found.
                if position + 1 < text.count, text[position + 1] >= 0x20, text[position + 1] < 0x80
                {
                    position += 1
                }
            case ..<0x20 where stringStart != nil:
                return JSONFault(.controlCharacter, at: position)
            default: break
            }
            position += 1
        }
        return JSONFault(
            stringStart == nil ? .unexpectedCharacter : .unclosedString,
            at: stringStart ?? 0
        )
    }

    /// The length of the UTF-8 sequence that starts here; 0 when it is malformed (Unicode, table 3-7).
    private static func wellFormedSize(_ text: UnsafeBufferPointer<UInt8>, _ start: Int) -> Int {
        func byte(_ offset: Int) -> UInt8 {
            start + offset < text.count ? text[start + offset] : 0
        }
        func continues(_ offset: Int) -> Bool { byte(offset) & 0xC0 == 0x80 }
        switch byte(0) {
        case ..<0x80: return 1
        case 0xC2...0xDF: return continues(1) ? 2 : 0
        case 0xE0: return (0xA0...0xBF).contains(byte(1)) && continues(2) ? 3 : 0
        case 0xED: return (0x80...0x9F).contains(byte(1)) && continues(2) ? 3 : 0
        case 0xE1...0xEF: return continues(1) && continues(2) ? 3 : 0
        case 0xF0: return (0x90...0xBF).contains(byte(1)) && continues(2) && continues(3) ? 4 : 0
        case 0xF4: return (0x80...0x8F).contains(byte(1)) && continues(2) && continues(3) ? 4 : 0
        case 0xF1...0xF3: return continues(1) && continues(2) && continues(3) ? 4 : 0
        default: return 0
        }
    }
}
