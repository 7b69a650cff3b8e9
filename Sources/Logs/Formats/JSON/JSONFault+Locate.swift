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
                let size = UTF8Sequence.size(text, position)
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
}
