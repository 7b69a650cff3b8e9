/// What is wrong with JSON that is none of OTLP.
enum OTLPMistake: Equatable {
    case objectExpected, arrayExpected, stringExpected
    case integerExpected, numberExpected, booleanExpected
    case hexExpected, base64Expected
    case formerName, otherSignal, memberRepeated, kindRepeated, disordered
    case tooLarge(Int)

    var sentence: String {
        switch self {
        case .objectExpected: "an object is expected here"
        case .arrayExpected: "an array is expected here"
        case .stringExpected: "a string is expected here"
        case .integerExpected:
            "OTLP has a whole number here that fits its type, in quotes or without"
        case .numberExpected: "OTLP has a number here, or \"NaN\", \"Infinity\" or \"-Infinity\""
        case .booleanExpected: "OTLP has true or false here"
        case .hexExpected: "the ids of traces and spans are hexadecimal digits, two for each byte"
        case .base64Expected: "bytesValue must be base64"
        case .formerName:
            "instrumentationLibraryLogs is how OTLP called scopeLogs before 0.15; update the exporter"
        case .otherSignal: "these are no logs; traces and metrics are not taken here"
        case .memberRepeated: "this member may occur only once"
        case .kindRepeated: "a value can be of one kind only"
        case .disordered:
            "too much stands in front of its key, its scope or its resource; write those first"
        case .tooLarge(let bytesMax): OTLPTexts.tooLarge(bytesMax)
        }
    }
}
