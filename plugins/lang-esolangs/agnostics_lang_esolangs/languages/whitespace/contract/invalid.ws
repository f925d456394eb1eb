push-1   	
put-number	
 	 		


