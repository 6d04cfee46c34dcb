package conformance

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// addSchemas adds tools whose input schema is what is tested.
func addSchemas(srv *mcp.Server) {
	srv.AddTool(&mcp.Tool{Name: "json_schema_2020_12_tool", Description: "Has a schema of many keywords.", InputSchema: json.RawMessage(`{
		"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
		"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
		"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},
		"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
		"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},
		"additionalProperties":false}`)}, fixed(&mcp.TextContent{Text: "ok"}))
	srv.AddTool(&mcp.Tool{Name: "test_x_mcp_header", Description: "Has arguments that are repeated in headers.", InputSchema: json.RawMessage(`{
		"type":"object","properties":{
			"region":{"type":"string","x-mcp-header":"Region"},"priority":{"type":"integer","x-mcp-header":"Priority"},"verbose":{"type":"boolean","x-mcp-header":"Verbose"},
			"query":{"type":"string"}}}`)}, fixed(&mcp.TextContent{Text: "ok"}))
}
